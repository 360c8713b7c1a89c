import type { ToolCall, ToolResult } from "../../base/result.ts";

/** Loads the tool of a call, if it is not registered yet. Resolves with the call's result if it cannot be loaded. */
export type LoadTool = (call: ToolCall, whose: { readonly tenant?: string }) => Promise<ToolResult | null>;

/** Loaders of tools that are registered at their first call. */
export class ToolLoaders {
  readonly #loaders = new Set<LoadTool>();

  get isEmpty(): boolean {
    return this.#loaders.size === 0;
  }

  /** Has a loader called before each child call, until the returned object is disposed. */
  add(load: LoadTool): Disposable {
    this.#loaders.add(load);
    return { [Symbol.dispose]: () => void this.#loaders.delete(load) };
  }

  /** Resolves with the result of a call whose tool cannot be loaded. */
  async load(call: ToolCall, tenant: string | undefined): Promise<ToolResult | null> {
    for (const load of this.#loaders) {
      const failed = await load(call, tenant === undefined ? {} : { tenant });
      if (failed !== null) return failed;
    }
    return null;
  }
}
