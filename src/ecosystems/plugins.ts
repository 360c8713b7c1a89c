import type { Plugin, PluginContract } from "../engine/plugin.ts";
import { fleetExecutor } from "../fleet/server/fleet-executor.ts";
import { fleetStores } from "../fleet/server/fleet-stores.ts";
import { connectors } from "../engine/connectors/plugin.ts";
import { agentspaceReader } from "../tool/contracts/agentspace.ts";
import { amplifier } from "../tool/contracts/amplifier.ts";
import type { ModuleReader } from "../tool/contracts/contract.ts";
import { strands } from "../tool/contracts/strands.ts";
import { xaibo } from "../tool/contracts/xaibo.ts";

const EXTENSION = import.meta.url.endsWith(".ts") ? "ts" : "js";

/**
 * The plugins of every engine of this package. Their order is that in which adapters are asked: a module that defines
 * names of two contracts is read by the first.
 */
export const PLUGINS: readonly Plugin[] = [
  ...[strands, agentspaceReader, xaibo, amplifier].map((reader) => ({
    name: reader.name,
    contracts: [withAdapter(reader)],
  })),
  { name: "fleet", executor: fleetExecutor, stores: fleetStores },
  connectors,
];

/** Their adapters, which `npm run build` bundles. */
export const ADAPTERS: readonly URL[] = PLUGINS.flatMap(({ contracts = [] }) =>
  contracts.map(({ adapter }) => adapter),
);

function withAdapter(reader: ModuleReader): PluginContract {
  const adapter = new URL(`../guest/contracts/${reader.name}.${EXTENSION}`, import.meta.url);
  return { reader, adapter };
}
