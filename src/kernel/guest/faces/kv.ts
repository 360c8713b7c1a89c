import type { FaceMaker } from "./face.ts";

/**
 * Values that outlive the call. `await host.kv.get(key)`: the value, or `null` if the key does not exist; `entry(key)`
 * distinguishes a missing key from a stored `null` and has the version. `set(key, value, options)`: the new version, or
 * `null` if `ifVersion` or `ifAbsent` was not met. `delete(key, options)`: whether the key existed. `list(prefix)`: one
 * page of keys; `keys(prefix)`: all of them, for `for await`.
 */
export const kvFace: FaceMaker = (ask) => {
  const list = async (asked: unknown = {}): Promise<Page> =>
    ask("kv", "list", typeof asked === "object" ? asked : { prefix: textOf("prefix", asked) }) as Promise<Page>;
  return {
    get: async (key: unknown) => ask("kv", "get", { key: textOf("key", key) }),
    entry: async (key: unknown) => ask("kv", "getEntry", { key: textOf("key", key) }),
    set: async (key: unknown, value: unknown, options: object = {}) =>
      ask("kv", "set", { ...options, key: textOf("key", key), value }),
    delete: async (key: unknown, options: object = {}) => ask("kv", "delete", { ...options, key: textOf("key", key) }),
    list,
    async *keys(asked: unknown = "") {
      const prefix = textOf("prefix", asked);
      let cursor: string | null = null;
      do {
        const page: Page = await list({ prefix, ...(cursor === null ? {} : { cursor }) });
        yield* page.keys;
        ({ cursor } = page);
      } while (cursor !== null);
    },
  };
};

/**
 * Refuses other values than strings: `undefined` would become the key "undefined", shared by all callers without one.
 */
function textOf(what: string, given: unknown): string {
  if (typeof given === "string") return given;
  throw new TypeError(
    `The ${what} must be a string, but got ${given === null ? "null" : `a value of type ${typeof given}`}`,
  );
}

interface Page {
  readonly keys: readonly {
    readonly key: string;
    readonly version: number;
    readonly bytes: number;
    readonly expiresAt: number | null;
  }[];
  readonly cursor: string | null;
}
