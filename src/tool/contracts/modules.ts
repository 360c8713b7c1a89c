import { agentspace } from "./agentspace.ts";
import { amplifier } from "./amplifier.ts";
import type { ModuleContract } from "./contract.ts";
import { strands } from "./strands.ts";
import { xaibo } from "./xaibo.ts";

/** The contracts other than Glovebox's own in which modules may be written. */
export const MODULE_CONTRACTS = { amplifier, agentspace, strands, xaibo } as const satisfies {
  readonly [name: string]: ModuleContract;
};
