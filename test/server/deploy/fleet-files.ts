/** What the files that start a fleet are checked with. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { readConfiguration } from "../../../src/server/config/configuration.ts";
import { machineSettings } from "../../../src/server/config/effective.ts";
import { readEnvironment } from "../../../src/server/config/environment.ts";
import { resolveOptions } from "../../../src/kernel/engine/options.ts";
import { engineOptions } from "../../../src/cli/open-engine.ts";
import { serveCommand } from "../../../src/cli/serve.ts";
import { workerCommand } from "../../../src/cli/worker.ts";
import { PLUGINS } from "../../../src/standard/plugins.ts";

export const DEPLOY = fileURLToPath(new URL("../../../fixtures/deploy", import.meta.url));
const METRICS = readFileSync(new URL("../../../docs/reference/metrics.md", import.meta.url), "utf8");
export const SECRET = "0123456789abcdef0123456789abcdef";

export const read = (name: string): string => readFileSync(join(DEPLOY, name), "utf8");

/** Of `worker --slots 3`, what is no command or flag of ours. */
export function unknownIn([name, ...args]: readonly string[]): readonly string[] {
  const command = [serveCommand(), workerCommand()].find((one) => one.name() === (name ?? "serve"));
  const flags = command?.options.map(({ long }) => long) ?? [];
  return command === undefined ? [name ?? ""] : args.filter((arg) => arg.startsWith("-") && !flags.includes(arg));
}

/** What a file and an environment come to for a server, or a machine, of a fleet. */
export async function fleetOf(file: string | undefined, env: NodeJS.ProcessEnv) {
  const { values } = await readConfiguration(file, readEnvironment(env));
  const options = engineOptions(values);
  const { executor, workers } = resolveOptions({ ...options, plugins: PLUGINS });
  return { executor, values, machine: machineSettings(values.machine, workers) };
}

export interface Metric {
  readonly name: string;
  readonly type: string;
}

/** The metrics that only servers and worker machines of a fleet show, by their page. */
export const fleetMetrics: readonly Metric[] = [
  ...(METRICS.split("## Server of a fleet")[1] ?? "").matchAll(/^\| `(\w+)` +\| (\w+)/gm),
].map(([, name = "", type = ""]) => ({ name, type }));

/** The names under which a metric can be asked for. */
export function seriesOf({ name, type }: Metric): readonly string[] {
  return type === "histogram" ? ["bucket", "sum", "count"].map((part) => `${name}_${part}`) : [name];
}
