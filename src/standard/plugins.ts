import { type Plugin, type PluginContract, resolvePlugins } from "../kernel/engine/plugin.ts";
import { fleetExecutor } from "../fleet/server/fleet-executor.ts";
import { fleetStores } from "../fleet/server/fleet-stores.ts";
import { connectors } from "../connectors/plugin.ts";
import { agentspaceReader } from "../contrib/agentspace/contract/agentspace.ts";
import { amplifier } from "../contrib/amplifier/contract/amplifier.ts";
import type { ModuleReader } from "../kernel/tool/contracts/contract.ts";
import { NATIVE } from "../wasi/native/methods.ts";
import { native } from "../wasi/native/runtime.ts";
import type { PreludeParts } from "../kernel/tool/runtimes/prelude.ts";
import { python } from "../python/runtime/runtime.ts";
import { wasi } from "../wasi/runtime/runtime.ts";
import { strands } from "../contrib/strands/contract/strands.ts";
import { xaibo } from "../contrib/xaibo/contract/xaibo.ts";

const EXTENSION = import.meta.url.endsWith(".ts") ? "ts" : "js";

/** Libraries of agents. `tools`: objects of no library. */
export const LIBRARY_NAMES = ["tools", "ai-sdk", "openai-agents", "langchain", "mastra", "mcp"] as const;

/**
 * The plugins of every engine of this package. Their order is that in which adapters are asked: a module that defines
 * names of two contracts is read by the first.
 */
export const PLUGINS: readonly Plugin[] = [
  ...[strands, agentspaceReader, xaibo, amplifier].map((reader) => ({
    name: reader.name,
    contracts: [withAdapter(reader)],
  })),
  {
    name: "agents",
    libraries: { names: LIBRARY_NAMES, module: new URL(`../contrib/agents/guest/index.${EXTENSION}`, import.meta.url) },
  },
  { name: "python", runtimes: [python] },
  { name: "wasi", runtimes: [wasi, native], modules: [NATIVE] },
  { name: "fleet", executor: fleetExecutor, stores: fleetStores },
  connectors,
];

const { parts, runtimes, stores } = resolvePlugins(PLUGINS);

/** Beside JavaScript. */
export const RUNTIMES = runtimes;

/** In place of files. */
export const STORES = stores;

/** What they add to the programs inside isolates: `npm run build` bundles it. */
export const PRELUDE_PARTS: PreludeParts = parts;

function withAdapter(reader: ModuleReader): PluginContract {
  const adapter = new URL(`../contrib/${reader.name}/guest/adapter.${EXTENSION}`, import.meta.url);
  return { reader, adapter };
}
