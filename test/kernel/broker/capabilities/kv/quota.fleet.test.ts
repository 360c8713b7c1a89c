import { describe, expect, test } from "vitest";
import { quotaGrants as grants } from "../../../../../src/kernel/broker/capabilities/kv/namespace.ts";
import { MIB } from "./open.ts";

type Read = typeof grants.read;
const read: Read = (value, side) => grants.read(value, side);

describe("a grant of kv", () => {
  test("is 1 MiB where a policy allows it without a number, whatever the tool asks for", () => {
    for (const allowed of [true, {}]) {
      expect(grants.meet(read(true, "request"), read(allowed, "policy"))).toBe(MIB);
      expect(grants.meet(read({ maxBytes: 5 * MIB }, "request"), read(allowed, "policy"))).toBe(MIB);
    }
  });

  test("is the smaller number of what is asked for and what is allowed", () => {
    expect(grants.meet(read({ maxBytes: 10 }, "request"), read({ maxBytes: 20 }, "policy"))).toBe(10);
    expect(grants.meet(read({ maxBytes: 20 }, "request"), read({ maxBytes: 10 }, "policy"))).toBe(10);
    expect(grants.meet(read(true, "request"), read({ maxBytes: 1024 * MIB }, "policy"))).toBe(1024 * MIB);
  });

  test.each([
    ["a word", "much", ": is true"],
    ["a list", [], ": is true"],
    ["something unknown", { bytes: 1 }, "/bytes: is not known"],
    ["no number", { maxBytes: "1" }, "/maxBytes: is a whole number"],
    ["a part of a byte", { maxBytes: 1.5 }, "/maxBytes: is a whole number"],
    ["less than a byte", { maxBytes: 0 }, "/maxBytes: is a whole number"],
    ["more than 1 GiB", { maxBytes: 1024 * MIB + 1 }, "/maxBytes: is a whole number"],
    ["no number at all", { maxBytes: Number.NaN }, "/maxBytes: is a whole number"],
  ])("is not read from a policy that says %s", (_what, value, why) => {
    expect(() => read(value, "policy")).toThrow(new RegExp(`^${why}`));
    expect(() => read(value, "policy")).toThrow(TypeError);
  });

  test("covers what is asked for where one of the alternatives is as large", () => {
    expect(grants.uncovered(10, [5, 10])).toEqual([]);
    expect(grants.uncovered(read(true, "request"), [5])).toEqual([]);
    expect(grants.uncovered(11, [5, 10])).toEqual([{ pointer: "/maxBytes", asked: "11 bytes" }]);
    expect(grants.uncovered(read(true, "request"), [])).toEqual([{ pointer: "", asked: "as much as is allowed" }]);
  });

  test("is told in bytes", () => {
    expect(grants.describe(MIB)).toBe("1048576 bytes");
  });
});
