import { GloveboxError } from "../errors.ts";
import type { ToolInfo } from "./definition.ts";
import type { RegisteredTool } from "./registered-tool.ts";

/** Tools that one engine may hold. */
export const MAX_TOOLS = 10_000;

/** The tools of an engine, by name. */
export class ToolRegistry {
  readonly #tools = new Map<string, RegisteredTool>();

  get size(): number {
    return this.#tools.size;
  }

  get(name: string): RegisteredTool | undefined {
    return this.#tools.get(name);
  }

  /** Adds a tool, or replaces the one of its name: a call gets either the old or the new one, whole. */
  set(tool: RegisteredTool): void {
    const { name } = tool.info;
    if (!this.#tools.has(name) && this.#tools.size >= MAX_TOOLS) {
      const problem = `cannot be registered: the engine holds ${MAX_TOOLS} tools already; unregister others first`;
      throw new GloveboxError("load_error", `tool "${name}" ${problem}`);
    }
    this.#tools.set(name, tool);
  }

  /** Whether there was such a tool. */
  delete(name: string): boolean {
    return this.#tools.delete(name);
  }

  /** All tools, sorted by name. */
  list(): ToolInfo[] {
    return [...this.#tools.values()]
      .map((tool) => tool.info)
      .sort((a, b) => (a.name < b.name ? -1 : Number(a.name > b.name)));
  }
}
