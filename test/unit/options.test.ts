import { expect, test } from "vitest";
import { type EngineOptions, resolveOptions } from "../../src/options.ts";

test.each([
  ["fetch", { fetch: null }],
  ["fetch", { fetch: [] }],
  ["fetch.connectTimeout", { fetch: { connectTimeout: 5 } }],
  ["fetch.connectMs", { fetch: { connectMs: 0 } }],
  ["fetch.headersMs", { fetch: { headersMs: "1000" } }],
  ["fetch.idleMs", { fetch: { idleMs: Number.NaN } }],
  ["kv", { kv: null }],
  ["kv.file", { kv: { file: "x" } }],
  ["idempotency.url", { idempotency: { url: "http://host" } }],
  ["idempotency.url", { idempotency: { url: 5 } }],
  ["idempotency", { idempotency: { url: "redis://host", path: "keys.sqlite" } }],
  ["idempotency.fleet", { idempotency: { url: "redis://host", fleet: "a:b" } }],
  ["idempotency.fleet", { idempotency: { path: "keys.sqlite", fleet: "a" } }],
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
  ["logger", { logger: {} }],
  ["logger", { logger: null }],
  ["logger", { logger: { info: () => undefined } }],
])("%s is refused by its name where it is none: %o", (name, options) => {
  const resolve = () => resolveOptions(options as unknown as EngineOptions);
  expect(resolve).toThrow(expect.objectContaining({ name: expect.stringMatching(/^(?:TypeError|RangeError)$/) }));
  expect(resolve).toThrow(new RegExp(`^${name.replace(".", "\\.")} `));
});

test("nothing of an address that cannot be used is told: it may hold a password", () => {
  const resolve = () => resolveOptions({ idempotency: { url: "redis://user:hush-hush@host:port" } });
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
