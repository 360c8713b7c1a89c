import crypto from "node:crypto";
import { syncBuiltinESMExports } from "node:module";
import { afterEach, expect, test, vi } from "vitest";
import type { KeyOptions } from "../../../src/server/access/key-options.ts";
import { Keys } from "../../../src/server/access/keys.ts";
import { createKey, keyOfEnvironment } from "../../../src/server/access/secret.ts";

const COUNT = 50;
const made = Array.from({ length: COUNT }, () => createKey());
const keys = new Keys(
  made.map(({ hash }, at): KeyOptions => ({ name: `k${at}`, hash, tenant: `t${at}`, roles: ["execute"] })),
);

// Modules of a process share Node's functions: other files have the real one again.
afterEach(() => {
  vi.restoreAllMocks();
  syncBuiltinESMExports();
});

test("a key is found by itself, and by nothing else", () => {
  for (const [at, { secret, hash }] of made.entries()) {
    expect(keys.find(secret)?.key).toBe(`k${at}`);
    expect(keys.find(hash)).toBe(null);
    expect(keys.find(secret.slice(0, -1))).toBe(null);
    expect(keys.find(`${secret}=`)).toBe(null);
  }
  expect(keys.find("")).toBe(null);
});

test.each([
  ["the first key", made[0]?.secret],
  ["the last key", made[COUNT - 1]?.secret],
  ["no key", createKey().secret],
  ["a key but for its end", `${made[0]?.secret.slice(0, -1)}_`],
  ["nothing", ""],
  ["very much", "x".repeat(10_000)],
])("as many digests of one length are compared for %s as for any other", (_what, sent = "") => {
  const compare = vi.spyOn(crypto, "timingSafeEqual");
  syncBuiltinESMExports();
  keys.find(sent);
  const compared = compare.mock.calls;
  expect(compared).toHaveLength(COUNT);
  expect(compared.every(([known, asked]) => known.byteLength === 32 && asked.byteLength === 32)).toBe(true);
});

test("nothing that can be read of keys is a key or a hash", () => {
  const shown = `${JSON.stringify(keys)} ${JSON.stringify([...keys.grants])} ${JSON.stringify(keys.find(made[0]?.secret ?? ""))}`;
  for (const { secret, hash } of made) {
    expect(shown).not.toContain(secret.slice(3));
    expect(shown).not.toContain(hash.slice(7));
  }
});

test("options that change later change nothing of what a key may do", () => {
  const roles: ("execute" | "admin")[] = ["execute"];
  const tools = ["a"];
  const { secret, hash } = createKey();
  const fixed = new Keys([{ name: "k", hash, tenant: "t", roles, tools }]);
  roles.push("admin");
  tools.push("*");
  expect([...(fixed.find(secret)?.roles ?? [])]).toEqual(["execute"]);
  expect(fixed.grants.get("k")?.tools).toEqual(["a"]);
});

test("two fresh keys are never the same, and each is long", () => {
  expect(new Set(made.map(({ secret }) => secret)).size).toBe(COUNT);
  expect(made.every(({ secret }) => /^gb_[A-Za-z0-9_-]{43}$/.test(secret))).toBe(true);
});

test("keys that are replaced open nothing more, and what is wrong replaces nothing", () => {
  const [old, fresh] = [createKey(), createKey()];
  const grant = { name: "k", tenant: "t", roles: ["execute"] } as const;
  const changing = new Keys([{ ...grant, hash: old.hash }]);
  for (const wrong of [[], [{ ...grant, hash: fresh.secret }], [{ ...grant, env: "GLOVEBOX_TEST_NOT_SET" }]]) {
    expect(() => changing.replace(wrong, {})).toThrow(TypeError);
  }
  expect(changing.find(old.secret)?.key).toBe("k");
  changing.replace([{ ...grant, hash: fresh.hash }]);
  expect(changing.find(old.secret)).toBe(null);
  expect(changing.find(fresh.secret)?.key).toBe("k");
});

test("a variable that was taken out of the environment still means what it meant, under its name alone", () => {
  const { secret } = createKey();
  const grant = { name: "k", tenant: "t", roles: ["execute"] } as const;
  const changing = new Keys([{ ...grant, env: "A" }], { A: secret });
  changing.replace([{ ...grant, env: "A", roles: ["metrics"] }], {});
  expect([...(changing.find(secret)?.roles ?? [])]).toEqual(["metrics"]);
  expect(() => changing.replace([{ ...grant, env: "B" }], {})).toThrow("/keys/0/env names a variable that is not set");
});

test("what is wrong with a key names its variable, and nothing of a key that was entered there", () => {
  const [grant, { secret }] = [{ name: "k", tenant: "t", roles: ["execute"] } as const, createKey()];
  const [short, entered] = [{ GLOVEBOX_KEY: "short" }, { ...grant, env: secret }];
  expect(() => new Keys(keyOfEnvironment(short), short)).toThrow(/^GLOVEBOX_KEY: its value is not a key/);
  expect(() => new Keys([entered], {})).toThrow(/variable that is not set$/);
});
