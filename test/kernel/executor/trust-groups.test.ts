import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { groupOf, resolveTrust, type TrustGroup } from "../../../src/kernel/executor/trust-groups.ts";

const nameOf = (groups: readonly TrustGroup[], registrant: string | undefined, tenant: string | null) =>
  groupOf(groups, registrant === undefined ? {} : { registrant }, tenant).name;

describe("trust groups", () => {
  test("are by default those of the operator's tools and of all others", () => {
    const groups = resolveTrust();
    expect(nameOf(groups, undefined, "acme")).toBe("own");
    expect(nameOf(groups, "operator", null)).toBe("own");
    expect(nameOf(groups, "key:ci", "acme")).toBe("brought");
    expect(nameOf(groups, "local", null)).toBe("brought");
  });

  test("take the calls that name both their tenant and the tool's registrant, the first before the others", () => {
    const groups = resolveTrust([
      { name: "acme", tenants: ["acme", "acme-*"] },
      { name: "keys", registrants: ["key:*"] },
      { name: "none", tenants: [] },
    ]);
    expect(nameOf(groups, "key:ci", "acme-eu")).toBe("acme");
    expect(nameOf(groups, "key:ci", "other")).toBe("keys");
    expect(nameOf(groups, "operator", "other")).toBe("rest");
    expect(nameOf(groups, "operator", "")).toBe("rest");
  });

  test("inspect modules where no tenant is named", () => {
    const groups = resolveTrust([{ name: "all-tenants", tenants: ["*"] }]);
    expect(nameOf(groups, "operator", null)).toBe("rest");
    expect(nameOf(groups, "operator", "")).toBe("all-tenants");
  });

  test.each([
    [{}, "a list"],
    [Array.from({ length: 17 }, (_, at) => ({ name: `g${at}` })), "16 groups"],
    [[null], "trust[0] must be an object"],
    [[{ name: "A" }], "trust[0].name"],
    [[{ name: "a", tags: [] }], "trust[0].tags is not a member"],
    [[{ name: "a", tenants: "acme" }], "trust[0].tenants must be a list of texts"],
    [[{ name: "a", registrants: [1] }], "trust[0].registrants must be a list of texts"],
    [[{ name: "a" }, { name: "a" }], 'two groups "a"'],
    [[{ name: "rest", tenants: ["a"] }], '"rest" is the group'],
  ])("are refused where one is %j", (given, problem) => {
    expect(() => resolveTrust(given)).toThrow(problem);
  });

  test("have each call in exactly one group, which depends on nothing else", () => {
    const names = fc.array(fc.constantFrom("a", "b", "a*", "*", "key:*"), { maxLength: 3 });
    const group = fc.record({ tenants: names, registrants: names }, { requiredKeys: [] });
    fc.assert(
      fc.property(
        fc.array(group, { maxLength: 5 }),
        fc.constantFrom("a", "ab", "key:x"),
        fc.constantFrom(null, "", "a", "b"),
        (given, registrant, tenant) => {
          const groups = resolveTrust(given.map((one, at) => ({ name: `g${at}`, ...one })));
          const found = groupOf(groups, { registrant }, tenant);
          expect(groups.filter(({ name }) => name === found.name)).toEqual([found]);
          expect(groupOf(groups, { registrant }, tenant)).toBe(found);
        },
      ),
    );
  });
});
