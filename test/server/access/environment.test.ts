import { expect, test } from "vitest";
import { ServiceKeys } from "../../../src/cli/service-keys.ts";
import { createKey, forgetVariables, keyOfEnvironment } from "../../../src/server/access/secret.ts";

test("one key in the environment is a lone administrator's, for everything", () => {
  expect(keyOfEnvironment({ GLOVEBOX_KEY: createKey().secret })).toEqual([
    { name: "admin", env: "GLOVEBOX_KEY", tenant: null, roles: ["execute", "admin", "metrics", "calls", "approve"] },
  ]);
});

test("without it, or with nothing in it, there is no key", () => {
  for (const environment of [{}, { GLOVEBOX_KEY: "" }, { GLOVEBOX_KEY: " " }]) {
    expect(keyOfEnvironment(environment)).toEqual([]);
  }
});

test("keys are taken out of the environment, and nothing else is", () => {
  const environment = { GLOVEBOX_KEYS: "[]", GLOVEBOX_KEY: "k", OPS: "k", PATH: "/bin" };
  forgetVariables(environment, [{ name: "a", env: "OPS", tenant: "a", roles: ["execute"] }]);
  expect(environment).toEqual({ PATH: "/bin" });
});

test("a service says which variable has the wrong key, and which file it cannot read", () => {
  const grant = { name: "a", tenant: "a", roles: ["execute"] } as const;
  const keys = [{ ...grant, file: "/nowhere/key" }];
  expect(() => new ServiceKeys({}, { GLOVEBOX_KEY: "short" })).toThrow(/^GLOVEBOX_KEY: its value is not a key/);
  expect(() => new ServiceKeys({ keys }, { GLOVEBOX_KEYS: JSON.stringify(keys) })).toThrow(
    "GLOVEBOX_KEYS: /keys/0/file cannot be read: ENOENT: /nowhere/key",
  );
});
