import { GloveboxError } from "../base/errors.ts";
import { OPERATOR } from "../broker/policy.ts";
import type { ToolInfo } from "./definition.ts";
import type { RegisteredTool } from "./registered-tool.ts";

/** Maximum number of tools in one engine. */
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

  /** Throws if there is no room for all of these; tools that replace others take none. */
  requireRoom(tools: readonly RegisteredTool[]): void {
    const added = new Set(tools.map(({ info }) => info.name).filter((name) => !this.#tools.has(name)));
    const [name] = added;
    if (name === undefined || this.#tools.size + added.size <= MAX_TOOLS) return;
    const holds = `the engine has ${this.#tools.size} tools, the limit is ${MAX_TOOLS}`;
    throw new GloveboxError("load_error", `tool "${name}" cannot be registered: ${holds}; unregister others first`);
  }

  /** Throws if one of these would replace the tool of another registrant. The operator may replace any. */
  requireOwn(tools: readonly RegisteredTool[]): void {
    for (const { info } of tools) {
      const { name, registrant } = info;
      const owner = this.#tools.get(name)?.info.registrant ?? registrant;
      if (owner === registrant || registrant === OPERATOR) continue;
      const message = `tool "${name}" belongs to another registrant; choose another name`;
      throw new GloveboxError("forbidden", message);
    }
  }

  /** Adds a tool or atomically replaces the one of the same name. */
  set(tool: RegisteredTool): void {
    this.requireRoom([tool]);
    this.#tools.set(tool.info.name, tool);
  }

  /** Returns whether the tool existed. */
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
