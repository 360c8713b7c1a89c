import { type BinaryRun, binaryExports } from "./binary.ts";
import type { EngineWorld, RuntimeEngine } from "../../kernel/guest/host.ts";

/** Makes the engine of binaries that run outside of any isolate: the host starts them, by a capability call. */
export function createEngine(): RuntimeEngine {
  let world: EngineWorld | null = null;
  return {
    connect: (connected) => {
      world = connected;
    },
    load: () => () =>
      binaryExports(async (argument) => {
        const { call } = world?.turn ?? {};
        if (call === null || call === undefined) throw new TypeError("a binary runs for a call");
        return (await call.ask("native", "run", { argument })) as BinaryRun;
      }),
  };
}
