import { resolve } from "node:path";
import { expect, test } from "vitest";
import { type PackageOptions, resolvePackageOptions } from "../../../../src/kernel/tool/package/options.ts";

test.each([
  ["packages", null],
  ["packages", []],
  ["packages.origin", { origin: [] }],
  ["packages.origins", { origins: "https://example.com" }],
  ["packages.origins/0", { origins: ["http://example.com"] }],
  ["packages.origins/1", { origins: ["*", "example.com"] }],
  ["packages.privateOrigins/0", { privateOrigins: ["http://*.example.com"] }],
  ["packages.privateOrigins/0", { privateOrigins: ["http://127.0.0.1/a"] }],
  ["packages.modules", { modules: "" }],
  ["packages.modules", { modules: 5 }],
  ["packages.wheels", { wheels: "" }],
  ["packages.wheels", { wheels: "a\0b" }],
  ["packages.wheels", { wheels: [] }],
  ["packages.allow", { allow: "lodash" }],
  ["packages.allow/0", { allow: ["../lodash"], modules: "." }],
  ["packages.allow", { allow: ["lodash"] }],
  ["packages.maxBytes", { maxBytes: 0 }],
  ["packages.maxBytes", { maxBytes: "1" }],
])("%s is refused by its name where it is invalid: %j", (name, options) => {
  const resolving = () => resolvePackageOptions(options);
  expect(resolving).toThrow(expect.objectContaining({ name: expect.stringMatching(/^(?:TypeError|RangeError)$/) }));
  expect(resolving).toThrow(new RegExp(`^${name.replace(".", "\\.")} `));
});

test("what is left open is decided: nothing may be fetched, and nothing depended on", () => {
  expect(resolvePackageOptions(undefined)).toEqual({
    origins: [],
    privateOrigins: new Set(),
    modules: undefined,
    allow: new Set(),
    wheels: undefined,
    maxBytes: 64 * 1024 * 1024,
  });
  const options: PackageOptions = {
    modules: "vendor",
    wheels: "wheels",
    allow: ["@scope/name"],
    privateOrigins: ["http://127.0.0.1:80"],
  };
  const { modules, wheels, privateOrigins } = resolvePackageOptions(options);
  expect([modules, wheels]).toEqual([resolve("vendor"), resolve("wheels")]);
  expect([...privateOrigins]).toEqual(["http://127.0.0.1"]);
});
