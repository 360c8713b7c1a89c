import { describe, expect, test } from "vitest";
import type { CapabilityRequest } from "../../../src/kernel/broker/capabilities/capability.ts";
import { createEnv } from "../../../src/kernel/broker/capabilities/env.ts";
import { fetchGrants } from "../../../src/kernel/broker/capabilities/fetch/grants.ts";
import { mountGrants } from "../../../src/kernel/broker/capabilities/fs/mounts.ts";
import { Grants } from "../../../src/kernel/broker/grants.ts";
import type { Policy } from "../../../src/kernel/broker/policy.ts";
import type { PlacedCapability } from "../../../src/kernel/broker/thread/host-capability.ts";

const placed = (name: string, grants: unknown) => ({ name, grants, methods: {} }) as unknown as PlacedCapability;
const CAPABILITIES = new Map<string, PlacedCapability>([
  ["fetch", placed("fetch", fetchGrants)],
  ["fs", placed("fs", mountGrants)],
  ["env", createEnv({})],
]);
const SUBJECT = { tool: "t", registrant: "operator", digest: "d", tags: [], tenant: "" };

function offer(requested: CapabilityRequest, policy: Policy = { rules: [] }, subject: Partial<typeof SUBJECT> = {}) {
  const grants = new Grants(CAPABILITIES, policy);
  const found = grants.offer({ ...SUBJECT, ...subject }, requested);
  // With the rule there is nothing left to offer, and it grants no more than is asked for.
  if (found.rule !== null) {
    const rules = [...policy.rules, found.rule as unknown as Policy["rules"][number]];
    expect(new Grants(CAPABILITIES, { rules }).offer({ ...SUBJECT, ...subject }, requested)).toEqual({
      rule: null,
      left: found.left,
    });
  }
  return found;
}

describe("the rule that is offered for a tool", () => {
  test("allows what the tool asks for and no rule allows, and nothing more", () => {
    const requested = { env: ["A", "B"], fetch: { origins: ["https://a.example", "https://b.example"] } };
    const rules = [{ allow: { env: ["A"], fetch: { origins: ["https://a.example"] } } }];
    expect(offer(requested, { rules })).toEqual({
      rule: {
        tools: ["t"],
        allow: { env: ["B"], fetch: { origins: ["https://b.example"], methods: ["GET", "HEAD"] } },
      },
      left: [],
    });
  });

  test("is for the tenant that is meant, and for tools of that registrant", () => {
    expect(offer({ env: ["A"] }, { rules: [] }, { tenant: "acme", registrant: "key:ci" }).rule).toEqual({
      tools: ["t"],
      registrants: ["key:ci"],
      tenants: ["acme"],
      allow: { env: ["A"] },
    });
  });

  test("is absent where all is allowed", () => {
    expect(offer({ env: ["A"] }, { rules: [{ allow: { env: ["*"] } }] })).toEqual({ rule: null, left: [] });
  });

  test.each([
    "http://169.254.169.254",
    "http://169.254.169.254/latest/meta-data",
    "http://[fd00:ec2::254]",
    "http://metadata.google.internal",
    "http://METADATA.google.internal.",
    "https://*.google.internal",
    "http://100.100.100.200",
    "http://127.0.0.1:8080",
    "http://10.0.0.1",
    "http://2852039166",
    "*",
  ])("does not open %s", (origin) => {
    const { rule, left } = offer({ fetch: { origins: [origin] } });
    expect([rule, left.map(({ pointer }) => pointer.replace(/\/origins.*/, ""))]).toEqual([
      null,
      ["/capabilities/fetch"],
    ]);
  });

  test("leaves to the operator what takes a decision", () => {
    const { rule, left } = offer({ env: ["A*", "B"], fs: { data: { mode: "ro" } }, other: true });
    expect(rule).toEqual({ tools: ["t"], allow: { env: ["B"] } });
    expect(left.map(({ pointer }) => pointer)).toEqual([
      "/capabilities/env/0",
      "/capabilities/fs",
      "/capabilities/other",
    ]);
  });
});
