import { readVersion } from "./check-node.ts";
import { Gauge, type Registry } from "./prometheus.ts";

/** Registers the information metrics of an engine or a worker machine: its build, and its configuration. */
export function registerInfo(registry: Registry): void {
  const registers = [registry];
  const { node, v8 } = process.versions;
  new Gauge({
    name: "glovebox_build_info",
    help: "1, labelled with the versions of Glovebox, Node.js and V8.",
    labelNames: ["version", "node", "v8"],
    registers,
  }).set({ version: readVersion(), node, v8 }, 1);
  new Gauge({
    name: "glovebox_config_info",
    help: "1, labelled with a digest of the settings that are in force. Only glovebox serve and glovebox worker have one.",
    labelNames: ["digest"],
    registers,
  });
}
