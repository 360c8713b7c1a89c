import type { ToolRunner } from "../contracts/runner.ts";
import type { Engine } from "../engine.ts";
import type { ExecuteOptions } from "../execute-options.ts";
import type { ToolCall, ToolResult } from "../result.ts";
import type { ToolInfo } from "../tool/definition.ts";
import type { Caller } from "./caller.ts";

/** Runs tools as one caller may, and tells when there are others. */
export interface CallerRunner extends ToolRunner {
  on(event: "tool:register" | "tool:unregister", listener: () => void): void;
  off(event: "tool:register" | "tool:unregister", listener: () => void): void;
}

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

  /** What one caller has of all this: for doors that serve a caller for longer than a request. */
  runnerFor(caller: Caller): CallerRunner {
    return {
      list: () => this.list(caller),
      get: (name) => this.get(caller, name),
      execute: (call, options = {}) => this.execute(caller, call, options),
      on: (event, listener) => void this.#engine.on(event, listener),
      off: (event, listener) => void this.#engine.off(event, listener),
    };
  }

  list(_caller: Caller): readonly ToolInfo[] {
    return this.#engine.list();
  }

  get(_caller: Caller, name: string): ToolInfo | undefined {
    return this.#engine.get(name);
  }
}
