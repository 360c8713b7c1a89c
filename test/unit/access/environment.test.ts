import { expect, test } from "vitest";
import { forgetKeys, keysOfEnvironment } from "../../../src/access/environment.ts";
import { createKey } from "../../../src/access/secret.ts";

test("a lone key is an administrator's, for every tenant and everything", () => {
  expect(keysOfEnvironment({ GLOVEBOX_KEY: createKey().secret })).toEqual([
    { name: "admin", env: "GLOVEBOX_KEY", tenant: null, roles: ["execute", "admin", "metrics"] },
  ]);
});

test("a list and a lone key are all keys", () => {
  const list = [{ name: "a", hash: createKey().hash, tenant: "t", roles: ["execute"] }];
  const keys = keysOfEnvironment({ GLOVEBOX_KEYS: JSON.stringify(list), GLOVEBOX_KEY: createKey().secret });
  expect(keys.map(({ name }) => name)).toEqual(["a", "admin"]);
});

test.each([{}, { GLOVEBOX_KEYS: "", GLOVEBOX_KEY: "" }, { GLOVEBOX_KEYS: " \n" }, { GLOVEBOX_KEYS: "[]" }])(
  "there are no keys in %o",
  (environment) => {
    expect(keysOfEnvironment(environment)).toEqual([]);
  },
);

test.each(["SECRET", "{}", '"SECRET"', '[{"name":"SECRET"', "5"])(
  "what is no list is refused without a word of it: %s",
  (text) => {
    expect(() => keysOfEnvironment({ GLOVEBOX_KEYS: text })).toThrow(/^GLOVEBOX_KEYS is not a list of keys in JSON/);
    expect(() => keysOfEnvironment({ GLOVEBOX_KEYS: text })).not.toThrow(/SECRET/);
  },
);

test("keys that were read are taken out of the environment", () => {
  const environment: NodeJS.ProcessEnv = { GLOVEBOX_KEYS: "[]", GLOVEBOX_KEY: "a", OPS: "b", PATH: "c" };
  const grant = { tenant: "t", roles: ["execute"] } as const;
  forgetKeys(environment, [{ ...grant, name: "a", env: "OPS" }, ...keysOfEnvironment(environment)]);
  expect(environment).toEqual({ PATH: "c" });
});
