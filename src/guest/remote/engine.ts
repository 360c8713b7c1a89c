import type { EngineWorld, Operation, RuntimeEngine } from "../host.ts";
import { callMcp } from "./mcp.ts";
import { callOpenApi } from "./openapi.ts";

/** Makes the engine of tools that other servers carry out: the host asks them, by a capability call. */
export function createEngine(): RuntimeEngine {
  let world: EngineWorld | null = null;
  const carryOut = (operation: Operation, input: unknown): Promise<unknown> => {
    const { call } = world?.turn ?? {};
    if (call === null || call === undefined) throw new TypeError("a tool of a connector runs for a call");
    const args = input as Readonly<Record<string, unknown>>;
    const ask = (method: string, request: unknown): Promise<unknown> => call.ask("connector", method, request);
    return operation.kind === "mcp"
      ? callMcp(operation, args, ask)
      : callOpenApi(operation, args, ask, (message) => call.log("warn", message));
  };
  return {
    connect: (connected) => {
      world = connected;
    },
    load: (code) => {
      const operation = JSON.parse(code as string) as Operation;
      return () => ({ default: (input: unknown) => carryOut(operation, input) });
    },
  };
}
