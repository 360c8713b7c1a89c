import type { FaceMaker } from "./face.ts";

/**
 * Values that outlive the call. `await host.kv.get(key)`: the value, or `null` where there is none; `entry(key)` tells
 * the two kinds of `null` apart, with its version. `set(key, value, options)`: the new version, or `null` where `ifVersion`
 * or `ifAbsent` did not hold. `delete(key, options)`: whether there was one to delete. `list(prefix)`: one page of keys;
 * `keys(prefix)`: all of them, for `for await`.
 */
export const kvFace: FaceMaker = (ask) => {
  const list = (asked: string | ListOptions = {}): Promise<Page> =>
    ask("kv", "list", typeof asked === "object" ? asked : { prefix: `${asked}` }) as Promise<Page>;
  return {
    get: (key: string) => ask("kv", "get", { key: `${key}` }),
    entry: (key: string) => ask("kv", "getEntry", { key: `${key}` }),
    set: (key: string, value: unknown, options: object = {}) => ask("kv", "set", { ...options, key: `${key}`, value }),
    delete: (key: string, options: object = {}) => ask("kv", "delete", { ...options, key: `${key}` }),
    list,
    async *keys(prefix = "") {
      let cursor: string | null = null;
      do {
        const page: Page = await list({ prefix: `${prefix}`, ...(cursor === null ? {} : { cursor }) });
        yield* page.keys;
        ({ cursor } = page);
      } while (cursor !== null);
    },
  };
};

interface ListOptions {
  readonly prefix?: string;
  readonly limit?: number;
  readonly cursor?: string;
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
