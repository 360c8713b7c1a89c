import { matchesName } from "../../../src/kernel/base/name-patterns.ts";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { findUncovered } from "../../../src/kernel/broker/grants.ts";
import { Grants } from "../../../src/kernel/broker/grants.ts";
import type { Policy } from "../../../src/kernel/broker/policy.ts";
import type { CapabilityRequest } from "../../../src/kernel/broker/capabilities/capability.ts";
import { createEnv } from "../../../src/kernel/broker/capabilities/env.ts";
import { nameGrants } from "../../../src/kernel/broker/capabilities/names.ts";
import { createTools } from "../../../src/kernel/broker/capabilities/tools.ts";

const CAPABILITIES = new Map([
  ["env", createEnv({})],
  ["tools", createTools()],
]);

function decide(policy: Policy, requested: CapabilityRequest, narrowed?: CapabilityRequest, tenant = "") {
  return new Grants(CAPABILITIES, policy).decide(
    { tool: "tool", tags: ["t1", "t2"], registrant: "operator", digest: "d1", tenant, requested, narrowed },
    "env",
  );
}

function granted(...given: Parameters<typeof decide>): unknown {
  const decision = decide(...given);
  return decision.isGranted ? decision.granted.flatMap(({ value }) => value) : [];
}

const allow = (names: string[], rule: object = {}) => ({ ...rule, allow: { env: names } });

describe("what is granted", () => {
  test("is what is asked for and what some rule allows", () => {
    expect(granted({ rules: [allow(["A", "B"]), allow(["C"])] }, { env: ["A", "C", "D"] })).toEqual(["A", "C"]);
  });

  test("is the narrower of two patterns", () => {
    expect(granted({ rules: [allow(["APP_*"])] }, { env: ["APP_URL", "*"] })).toEqual(["APP_URL", "APP_*"]);
  });

  test("is narrowed by the call, and never widened", () => {
    const policy = { rules: [allow(["A", "B"])] };
    expect(granted(policy, { env: ["A", "B", "C"] }, { env: ["B", "C"] })).toEqual(["B"]);
    expect(granted(policy, { env: ["A"] }, {})).toEqual([]);
    expect(granted(policy, { env: ["A"] }, { env: ["*"] })).toEqual(["A"]);
  });

  test.each([
    ["the tool", { tools: ["other"] }],
    ["a tag", { tags: ["t3"] }],
    ["the tenant", { tenants: ["acme"] }],
    ["anybody", { tools: [] }],
  ])("is nothing where no rule names %s", (_whom, rule) => {
    expect(granted({ rules: [allow(["A"], rule)] }, { env: ["A"] })).toEqual([]);
  });

  test.each([
    ["the tool", { tools: ["to*"] }],
    ["a tag", { tags: ["t2"] }],
    ["the tenant", { tenants: ["ac*"] }],
    ["all three", { tools: ["tool"], tags: ["t1"], tenants: ["acme"] }],
  ])("is what a rule allows that names %s", (_whom, rule) => {
    expect(granted({ rules: [allow(["A"], rule)] }, { env: ["A"] }, undefined, "acme")).toEqual(["A"]);
  });

  test("is nothing of what a call writes in another form, and it is told", () => {
    const decision = decide({ rules: [allow(["A"])] }, { env: ["A"] }, { env: "A" } as unknown as CapabilityRequest);
    expect(decision).toMatchObject({
      isGranted: false,
      message: 'the request for "env" cannot be read: it is a list of at most 1000 names',
    });
    const inside = decide({ rules: [allow(["A"])] }, { env: ["A"] }, { env: ["A", 5] } as unknown as CapabilityRequest);
    expect(inside).toMatchObject({
      message: 'the request for "env" cannot be read: /1 is a name of 1 to 256 characters, which may end in *',
    });
  });

  test("of names is exactly what all sides cover", () => {
    const pattern = fc
      .tuple(fc.stringMatching(/^[ab]{0,2}$/), fc.boolean())
      .map(([name, open]) => name + (open || name === "" ? "*" : ""));
    const patterns = fc.array(pattern, { minLength: 1, maxLength: 3 });
    fc.assert(
      fc.property(patterns, patterns, fc.stringMatching(/^[ab]{0,3}$/), (asked, allowed, name) => {
        const both = nameGrants.meet(asked, allowed) ?? [];
        const covers = (some: readonly string[]) => some.some((one) => matchesName(one, name));
        return covers(both) === (covers(asked) && covers(allowed));
      }),
    );
  });
});

describe("denied requests", () => {
  const find = (policy: Policy, requested: CapabilityRequest) =>
    findUncovered(
      new Grants(CAPABILITIES, policy),
      { tool: "tool", tags: [], registrant: "operator", digest: "d1", tenant: null },
      requested,
    );

  test("is found by its place, one by one", () => {
    const findings = find({ rules: [allow(["A"])] }, { env: ["A", "B"], tools: ["x"], nothing: true, off: false });
    expect(findings.map(({ pointer }) => pointer)).toEqual([
      "/capabilities/env/1",
      "/capabilities/tools",
      "/capabilities/nothing",
    ]);
  });

  test("is nothing that some tenant may have", () => {
    expect(find({ rules: [allow(["A"], { tenants: ["acme"] })] }, { env: ["A"] })).toEqual([]);
  });

  test("is what cannot be read, with what belongs there", () => {
    const findings = find({ rules: [allow(["A"])] }, { env: ["A", 5] } as unknown as CapabilityRequest);
    expect(findings).toEqual([
      { pointer: "/capabilities/env/1", reason: expect.any(String), remediation: expect.stringContaining("is a name") },
    ]);
  });
});
