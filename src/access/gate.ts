import type { Engine } from "../engine.ts";
import type { ExecuteOptions } from "../execute-options.ts";
import type { Explanation } from "../explanation.ts";
import type { ToolCall, ToolResult } from "../result.ts";
import type { ToolInfo } from "../tool/definition.ts";
import type { Caller } from "./caller.ts";

/** What doors ask of an engine on behalf of a caller: only what that caller may have. */
export class Gate {
  readonly #engine: Engine;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /** Runs a call as the caller may. Never rejects. */
  execute(caller: Caller, call: ToolCall, options: ExecuteOptions): Promise<ToolResult> {
    const tenant = caller.tenant ?? options.tenant;
    return this.#engine.execute(call, tenant === undefined ? options : { ...options, tenant });
  }

  list(_caller: Caller): readonly ToolInfo[] {
    return this.#engine.list();
  }

  get(_caller: Caller, name: string): ToolInfo | undefined {
    return this.#engine.get(name);
  }

  /** What a tool's calls are granted for the caller's tenant; for the one it names, where it may say so itself. */
  explain(caller: Caller, name: string, tenant: string): Explanation | undefined {
    if (this.get(caller, name) === undefined) return undefined;
    return this.#engine.explain(name, { tenant: caller.tenant ?? tenant });
  }
}
