import { describe, expect, test } from "vitest";
import { type HandlerOptions, readOptions } from "../../../src/server/handlers/options.ts";
import { walkBody } from "../../../src/server/handlers/parsed-body.ts";
import { Guests } from "../../../src/server/access/guests.ts";

const read = (options: object) => () => readOptions(options as HandlerOptions<unknown>);

describe("a handler's options", () => {
  test("say who may call, or the error names the three ways", () => {
    for (const name of ["authenticate", "keys", "allowAnybody"]) {
      expect(read({})).toThrow(TypeError);
      expect(read({})).toThrow(name);
      expect(() => Reflect.apply(readOptions, undefined, [])).toThrow(name);
    }
  });

  test.each([
    ["no keys", { keys: [] }, "keys is empty"],
    ["two ways", { allowAnybody: true, authenticate: () => null }, "several"],
    ["allowAnybody that is not true", { allowAnybody: false }, "nothing says"],
    ["authenticate that is no function", { authenticate: {} }, "authenticate is a function"],
    ["an unknown group of routes", { allowAnybody: true, routes: ["all"] }, 'no group "all"'],
    ["administration by anybody", { allowAnybody: true, routes: ["admin"] }, "anybody could register tools"],
    ["assets without a place", { allowAnybody: true, routes: ["assets"] }, "where they are stored"],
    ["a path without a slash", { allowAnybody: true, basePath: "tools" }, "basePath"],
    ["a path with a query", { allowAnybody: true, basePath: "/a?b" }, "basePath"],
  ])("are refused with %s", (_what, options, message) => {
    expect(read(options)).toThrow(TypeError);
    expect(read(options)).toThrow(message);
  });

  test("have no group of routes that shows other tenants unless it is named", () => {
    const { routes } = readOptions({ allowAnybody: true });
    expect([...routes].toSorted()).toEqual(["execute", "health", "mcp", "openapi", "tools"]);
  });
});

describe("a walk through a body that is parsed", () => {
  const nested = (levels: number): unknown => JSON.parse(`${"[".repeat(levels)}${"]".repeat(levels)}`);

  test.each([
    ["a thousand levels", nested(1_000), "within"],
    ["a thousand and one levels", nested(1_001), "excessive"],
    ["a million values", Array.from({ length: 999_999 }, () => 0), "within"],
    ["more than a million values", Array.from({ length: 1_000_000 }, () => 0), "excessive"],
    ["long texts", { a: "x".repeat(60), b: "x".repeat(60) }, "too large"],
    ["long names", { ["x".repeat(101)]: 0 }, "too large"],
    ["nothing", undefined, "within"],
  ])("finds %s", async (_what, body, verdict) => {
    expect(await walkBody(body, 100)).toBe(verdict);
  });

  test("ends with a value that contains itself", async () => {
    const value: { self?: unknown } = {};
    value.self = value;
    expect(await walkBody(value, 10_000)).toBe("excessive");
  });
});

describe("callers of an application", () => {
  test("are one where the application says the same of them, and others where it does not", () => {
    const guests = new Guests();
    const ada = { name: "ada", tenant: "a", roles: ["execute"] };
    expect(guests.admit(ada).identity).toBe(guests.admit({ ...ada }).identity);
    for (const other of [{ tenant: "b" }, { name: "ben" }, { tools: ["add"] }, { roles: ["execute", "admin"] }]) {
      expect(guests.admit({ ...ada, ...other }).identity).not.toBe(guests.admit(ada).identity);
    }
  });

  test("keep what they have used of their rate", async () => {
    const guests = new Guests();
    const slow = { name: "slow", roles: ["execute"], rate: { calls: 1, perMs: 60_000 } };
    expect(await guests.admit(slow).account.take()).toBeNull();
    expect(await guests.admit(slow).account.take()).not.toBeNull();
    expect(await guests.admit({ ...slow, tenant: "b" }).account.take()).toBeNull();
  });

  test("have at most a thousand names in metrics", () => {
    const guests = new Guests();
    const names = Array.from({ length: 1_100 }, (_, at) => guests.admit({ name: `n${at}`, roles: [] }).key);
    expect(new Set(names).size).toBe(1_001);
    expect(names.at(-1)).toBe("other");
  });

  test.each([
    ["an unknown role", { roles: ["root"] }],
    ["no roles", {}],
    ["a tenant that is no text", { roles: [], tenant: 1 }],
    ["something unknown", { roles: [], tenants: [] }],
    ["no object", "ada"],
  ])("are refused with %s", (_what, said) => {
    expect(() => new Guests().admit(said)).toThrow(TypeError);
  });
});
