import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startEngine } from "../../../src/kernel/engine/engine.ts";
import { type EngineOptions, resolveOptions } from "../../../src/kernel/engine/options.ts";
import type { Plugin } from "../../../src/kernel/engine/plugin.ts";
import { unwrap } from "../../../src/glovebox/index.ts";
import { SqliteLedger } from "../../../src/kernel/store/calls/sqlite-ledger.ts";
import type { StoreFactories } from "../../../src/kernel/store/store-factory.ts";

/** Values of all namespaces in one map, and the address of the store as a value that is always there. */
const KV = `export const open = ({ url }) => {
  const values = new Map([["url", JSON.stringify(url)]]);
  return {
    get: async (_caller, _namespace, key) =>
      values.has(key) ? { value: values.get(key), version: 1, expiresAt: null } : null,
    set: async (_caller, _namespace, { key, value }) => (values.set(key, value), { kind: "set", version: 1 }),
    delete: async () => false,
    list: async () => ({ keys: [], cursor: null }),
    close: async () => {},
  };
};`;
/** Answers each list with the number of calls, the address and the room that it has. */
const CALLS = `export const open = async ({ url }, { maxBytes }) => {
  let kept = 0;
  return {
    bytes: 0,
    patienceMs: 100,
    add: async (rows) => void (kept += rows.length),
    list: async () => ({ calls: [{ kept, url, maxBytes }], cursor: null }),
    get: async () => undefined,
    run: async () => undefined,
    detail: async () => null,
    sweep: async () => false,
    watch: () => {},
    close: async () => {},
  };
};`;
const TOOL = `export default async (_input, { host }) => {
  const count = ((await host.kv.get("count")) ?? 0) + 1;
  await host.kv.set("count", count);
  return { count, url: await host.kv.get("url") };
};
export const spec = { description: "Counts", inputSchema: { type: "object" }, capabilities: { kv: { maxBytes: 1000 } } };`;
const policy = { rules: [{ tools: ["*"], allow: { kv: { maxBytes: 1_000 } } }] };
let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "glovebox-stores-"));
  for (const [name, text] of Object.entries({ "kv.js": KV, "calls.js": CALLS, "count.js": TOOL }))
    writeFileSync(join(folder, name), text);
});

afterAll(() => rmSync(folder, { recursive: true }));

describe("a plugin's stores", () => {
  test("take the place of files where the option has a url", async () => {
    const loaded: string[] = [];
    const plugins = [{ name: "ours", stores: storesThatTell(loaded) }];
    const options = {
      kv: { url: "ours://kv" },
      idempotency: { url: "ours://ledger", maxEntries: 5 },
      calls: { url: "ours://calls" },
    };
    await using engine = await startEngine({
      ...options,
      workers: 1,
      plugins,
      policy,
      tools: [join(folder, "count.js")],
    });
    const call = { name: "count", arguments: {} };
    const once = { idempotencyKey: "once" };
    expect(unwrap(await engine.execute(call, once))).toEqual({ count: 1, url: "ours://kv" });
    expect(unwrap(await engine.execute(call, once))).toEqual({ count: 1, url: "ours://kv" });
    expect(unwrap(await engine.execute(call))).toEqual({ count: 2, url: "ours://kv" });
    expect((await engine.calls.list()).calls).toEqual([{ kept: 2, url: "ours://calls", maxBytes: 2 ** 25 }]);
    expect(loaded.toSorted()).toEqual(["calls", "idempotency", "kv", "ledger at ours://ledger of 5"]);
  });

  test("are not loaded where no option has a url", async () => {
    const loaded: string[] = [];
    await using _engine = await startEngine({
      workers: 1,
      plugins: [{ name: "ours", stores: storesThatTell(loaded) }],
    });
    expect(loaded).toEqual([]);
  });

  test("are refused where two plugins bring one for the same option", () => {
    const plugins: readonly Plugin[] = ["one", "other"].map((name) => ({ name, stores: storesThatTell([]) }));
    expect(() => resolveOptions({ plugins })).toThrow("plugins: two bring a store for kv.url; give one of them");
  });
});

test.each<[string, EngineOptions]>([
  ["kv", { kv: { url: "redis://:hush@host" } }],
  ["idempotency", { idempotency: { url: "redis://:hush@host", secret: "hush" } }],
  ["calls", { calls: { url: "redis://:hush@host", secret: "hush" } }],
])("an engine without a plugin's store refuses %s.url, and shows nothing of the address", async (option, options) => {
  await expect(startEngine(options)).rejects.toThrow(
    new TypeError(`${option}.url needs a plugin that brings a store for it: add one, or use ${option}.path`),
  );
});

/** Stores that note in a list what is loaded and opened of them. */
function storesThatTell(loaded: string[]): StoreFactories {
  const of = (option: keyof StoreFactories) => ({
    resolve: ({ url }: { readonly url?: string | undefined }) => ({ url }),
    load: async () => loaded.push(option),
    module: pathToFileURL(join(folder, `${option}.js`)),
  });
  return {
    kv: of("kv"),
    calls: { ...of("calls"), maxBytes: 2 ** 25 },
    idempotency: {
      ...of("idempotency"),
      open: (own: { readonly url?: string }, capacity) => {
        loaded.push(`ledger at ${own.url} of ${capacity.maxEntries}`);
        return SqliteLedger.inMemory(capacity);
      },
    },
  };
}
