import fc from "fast-check";
import { parse } from "yaml";
import { describe, expect, test } from "vitest";
import { configRemedy, type Remedy } from "../../../src/kernel/base/remedy.ts";
import type { CapabilityRequest } from "../../../src/kernel/broker/capabilities/capability.ts";
import { createEnv } from "../../../src/kernel/broker/capabilities/env.ts";
import { fetchGrants } from "../../../src/kernel/broker/capabilities/fetch/grants.ts";
import { Grants } from "../../../src/kernel/broker/grants.ts";
import type { Policy } from "../../../src/kernel/broker/policy.ts";
import type { PlacedCapability } from "../../../src/kernel/broker/thread/host-capability.ts";

const FETCH = { name: "fetch", grants: fetchGrants, methods: {} } as unknown as PlacedCapability;
const CAPABILITIES = new Map<string, PlacedCapability>([
  ["fetch", FETCH],
  ["env", createEnv({})],
]);
const SUBJECT = { tool: "t", registrant: "operator", digest: "d", tags: [], tenant: "", narrowed: undefined };

function remedies(
  requested: CapabilityRequest,
  policy: Policy,
  [capability, args]: readonly [string, object],
  subject: Partial<typeof SUBJECT> = {},
): readonly Remedy[] {
  const grants = new Grants(CAPABILITIES, policy);
  return grants.remedies({ ...SUBJECT, ...subject, requested }, { capability, args: JSON.stringify(args) });
}

const GET = ["fetch", { url: "https://api.example.com/path?q=1", method: "GET" }] as const;
const ORIGIN = { origins: ["https://api.example.com"], methods: ["GET"] };
const NO_RULES = { rules: [] };

describe("remedies of a denied request", () => {
  test("go into the tool and the policy where neither has it", () => {
    expect(remedies({}, NO_RULES, GET)).toEqual([
      {
        kind: "tool",
        pointer: "/capabilities",
        ts: 'capabilities: {"fetch":{"origins":["https://api.example.com"],"methods":["GET"]}},',
      },
      {
        kind: "config",
        pointer: "/policy/rules/-",
        yaml: 'policy:\n  rules:\n    - {"tools":["t"],"allow":{"fetch":{"origins":["https://api.example.com"],"methods":["GET"]}}}\n',
        json: { tools: ["t"], allow: { fetch: ORIGIN } },
      },
    ]);
  });

  test("go into the policy alone where the tool asks for it", () => {
    expect(remedies({ fetch: ORIGIN }, NO_RULES, GET).map(({ kind }) => kind)).toEqual(["config"]);
  });

  test("widen what the tool asks for already", () => {
    const requested = { fetch: { origins: ["https://other.example"] }, env: ["HOME"] };
    const [tool] = remedies(requested, { rules: [{ allow: { fetch: ORIGIN } }] }, GET);
    expect(tool).toMatchObject({
      ts: 'capabilities: {"fetch":{"origins":["https://other.example","https://api.example.com"],"methods":["GET","HEAD"]},"env":["HOME"]},',
    });
  });

  test("name the registrant and the tenant that it was made for", () => {
    const [, config] = remedies({}, NO_RULES, GET, { registrant: "key:a", tenant: "acme" });
    expect(config).toMatchObject({ json: { tools: ["t"], registrants: ["key:a"], tenants: ["acme"] } });
  });

  test("do not exist where the caller's own narrowing excludes it", () => {
    expect(remedies({}, NO_RULES, GET, { narrowed: {} as never })).toEqual([]);
  });

  test.each([
    "http://169.254.169.254/latest/meta-data",
    "http://[fd00:ec2::254]/",
    "http://168.63.129.16/",
    "http://100.100.100.200/",
    "http://metadata.google.internal/",
    "http://metadata.google.internal./",
    "http://127.0.0.1:8080/",
    "http://2852039166/",
    "file:///etc/passwd",
    "no address",
  ])("do not open %s", (url) => {
    expect(remedies({}, NO_RULES, ["fetch", { url, method: "GET" }])).toEqual([]);
  });

  test("do not exist for a method that is never granted", () => {
    expect(remedies({}, NO_RULES, ["fetch", { url: "https://a.example", method: "TRACE" }])).toEqual([]);
  });

  test("of a name ask for this name, and never for a pattern", () => {
    expect(remedies({}, NO_RULES, ["env", { name: "HOME" }])).toMatchObject([
      { ts: 'capabilities: {"env":["HOME"]},' },
      { json: { allow: { env: ["HOME"] } } },
    ]);
    expect(remedies({}, NO_RULES, ["env", { name: "*" }])).toEqual([]);
  });
});

describe("the YAML of a remedy", () => {
  test("has the value at its place, whatever texts it has", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.string({ unit: "grapheme" }), (one, other) => {
        const value = { tools: [one], allow: { env: [other, `\n"}]: x\u2028\u0085 #`] } };
        const remedy = configRemedy(["policy", "rules", "-"], value);
        expect(remedy.kind === "config" && parse(remedy.yaml)).toEqual({ policy: { rules: [value] } });
      }),
      { numRuns: 50 },
    );
  });
});
