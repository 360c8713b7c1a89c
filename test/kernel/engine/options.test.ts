import { resolve } from "node:path";
import { expect, test } from "vitest";
import { type EngineOptions, resolveOptions } from "../../../src/kernel/engine/options.ts";
import { PLUGINS } from "../../../src/standard/plugins.ts";
import { fleetExecutor } from "../../../src/fleet/server/fleet-executor.ts";

const URL = "redis://:hush-hush@redis.example:6379";

test.each([
  ["fetch", { fetch: null }],
  ["fetch", { fetch: [] }],
  ["fetch.connectTimeout", { fetch: { connectTimeout: 5 } }],
  ["fetch.connectMs", { fetch: { connectMs: 0 } }],
  ["fetch.headersMs", { fetch: { headersMs: "1000" } }],
  ["fetch.idleMs", { fetch: { idleMs: Number.NaN } }],
  ["kv", { kv: null }],
  ["kv.file", { kv: { file: "x" } }],
  ["idempotency.url:", { idempotency: { url: "http://host" } }],
  ["idempotency.url", { idempotency: { url: 5 } }],
  ["idempotency", { idempotency: { url: "redis://host", path: "keys.sqlite" } }],
  ["idempotency.fleet:", { idempotency: { url: "redis://host", fleet: "a:b" } }],
  ["idempotency.fleet", { idempotency: { path: "keys.sqlite", fleet: "a" } }],
  ["calls.url:", { calls: { url: "http://host", secret: "sixteen letters." } }],
  ["calls.url", { calls: { url: "redis://host" } }],
  ["calls takes", { calls: { url: "redis://host", secret: "sixteen letters.", path: "calls.sqlite" } }],
  ["calls.fleet:", { calls: { url: "redis://host", secret: "sixteen letters.", fleet: "a:b" } }],
  ["calls.fleet", { calls: { path: "calls.sqlite", fleet: "a" } }],
  ["calls.secret", { calls: { url: "redis://host", secret: "fifteen letters" } }],
  ["calls.secret", { calls: { path: "calls.sqlite", secret: "fifteen letters" } }],
  ["idempotency.secret", { idempotency: { url: "redis://host", secret: "fifteen letters" } }],
  ["queue.max", { queue: { max: 5 } }],
  ["secrets", { secrets: null }],
  ["secrets", { secrets: ["A"] }],
  ["audit", { audit: 5 }],
  ["audit", { audit: "" }],
  ["audit", { audit: null }],
  ["capabilities", { capabilities: {} }],
  ["capabilities", { capabilities: null }],
  ["policy", { policy: null }],
  ["policy", { policy: [] }],
  ["packages", { packages: null }],
  ["packages.origin", { packages: { origin: [] } }],
  ["packages.allow", { packages: { allow: ["lodash"] } }],
  ["executor", { executor: "cloud" }],
  ["executor.sandbox", { executor: { kind: "process", sandbox: "maybe" } }],
  ["executor.url", { executor: "queue" }],
  ["executor.url", { executor: { kind: "queue", url: "" } }],
  ["executor.url:", { executor: { kind: "queue", url: "http://redis.example" } }],
  ["executor.fleet:", { executor: { kind: "queue", url: URL, fleet: "{a}" } }],
  ["executor.secret", { executor: { kind: "queue", url: URL, secret: "short" } }],
  ["executor.lostMs", { executor: { kind: "queue", url: URL, lostMs: 0 } }],
  ["executor.store", { executor: { kind: "queue", url: URL, store: "https://bucket.example" } }],
  ["executor.codeMaxBytes", { executor: { kind: "queue", url: URL, codeMaxBytes: 1.5 } }],
  ["executor.url", { executor: { kind: "process", url: URL } }],
  ["executor.fleet", { executor: { kind: "threads", fleet: "a" } }],
  ["executor.secret", { executor: { kind: "process", secret: "hush-hush-hush-hush" } }],
  ["executor.lostMs", { executor: { kind: "process", lostMs: 1 } }],
  ["executor.store", { executor: { kind: "process", store: "/mnt" } }],
  ["executor.codeMaxBytes", { executor: { kind: "process", codeMaxBytes: 5_000 } }],
  ["logger", { logger: {} }],
  ["logger", { logger: null }],
  ["logger", { logger: { info: () => undefined } }],
])("%s is refused by its name where it is invalid: %o", (name, options) => {
  const resolve = () => resolveOptions({ ...(options as unknown as EngineOptions), plugins: PLUGINS });
  expect(resolve).toThrow(expect.objectContaining({ name: expect.stringMatching(/^(?:TypeError|RangeError)$/) }));
  expect(resolve).toThrow(new RegExp(`^${name.replaceAll(".", "\\.")} `));
});

test("nothing of an address that cannot be used is told: it may hold a password", () => {
  const resolve = () => resolveOptions({ idempotency: { url: "redis://user:hush-hush@host:port" }, plugins: PLUGINS });
  expect(resolve).toThrow(expect.objectContaining({ message: expect.not.stringContaining("hush") }));
});

test("options that are left out, or undefined, are decided", () => {
  const { policy, capabilities, fetch, secrets } = resolveOptions({ fetch: { idleMs: undefined } });
  expect({ policy, capabilities, fetch, secrets }).toEqual({
    policy: { rules: [] },
    capabilities: [],
    fetch: { idleMs: undefined },
    secrets: {},
  });
});

test("a fleet is decided by the URL of its Redis alone", () => {
  const { executor } = resolveOptions({ executor: { kind: "queue", url: URL }, plugins: PLUGINS });
  expect(executor).toHaveProperty("own", {
    url: URL,
    fleet: "default",
    secret: undefined,
    lostMs: 10_000,
    store: undefined,
    codeMaxBytes: 16 * 1024 * 1024,
  });
});

test.each([
  ["a URL that is invalid", { kind: "queue", url: "redis://:hush-hush@" }],
  ["a URL in the place of a kind", "redis://:hush-hush@redis.example"],
  ["a secret that is too short", { kind: "queue", url: URL, secret: "hush" }],
  ["a secret where none belongs", { kind: "process", secret: "hush-hush-hush-hush" }],
  ["a store with a password", { kind: "queue", url: URL, store: "https://a:hush@bucket.example" }],
])("a message about %s shows nothing of it", (_, executor) => {
  const refused = ((): unknown => {
    try {
      return resolveOptions({ executor, plugins: PLUGINS } as unknown as EngineOptions);
    } catch (error) {
      return error;
    }
  })();
  expect(refused).toBeInstanceOf(Error);
  expect(String(refused)).not.toContain("hush");
});

test("a store is a URL as it is, or the absolute path of a folder", () => {
  const storeOf = (store: string) => fleetExecutor.resolve({ url: URL, store });
  expect(storeOf("s3+https://s3.example/tools")).toMatchObject({ store: "s3+https://s3.example/tools" });
  expect(storeOf("tools")).toMatchObject({ store: resolve("tools") });
});
