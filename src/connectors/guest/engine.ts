import type { EngineWorld, Operation, RuntimeEngine } from "../../kernel/guest/host.ts";
import { callMcp } from "./mcp.ts";
import { readMountFiles } from "./mount-files.ts";
import { callOpenApi } from "./openapi.ts";

/** Makes the engine of tools that other servers execute: the host sends the requests, after a capability call. */
export function createEngine(): RuntimeEngine {
  let world: EngineWorld | null = null;
  const carryOut = (operation: Operation, input: unknown): Promise<unknown> => {
    const { call } = world?.turn ?? {};
    if (call === null || call === undefined) throw new TypeError("a tool of a connector runs for a call");
    const args = input as Readonly<Record<string, unknown>>;
    const ask = (method: string, request: unknown): Promise<unknown> => call.ask("connector", method, request);
    if (operation.kind === "mcp") return callMcp(operation, args, ask);
    const warn = (message: string): void => call.log("warn", message);
    return operation.takesPaths
      ? readMountFiles(operation, args, (name, method, given) => call.ask(name, method, given)).then((read) =>
          callOpenApi(operation, read, ask, warn),
        )
      : callOpenApi(operation, args, ask, warn);
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
