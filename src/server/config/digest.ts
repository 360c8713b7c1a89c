import { hash } from "node:crypto";
import path from "node:path";
import type { Gauge, Registry } from "prom-client";
import { isObject } from "../../kernel/base/json.ts";
import { isOneOf, type Setting } from "./effective.ts";
import { PATHS } from "./schema.ts";

const HEX_DIGITS = 12;
/** Settings that differ between machines of one configuration. Only the paths of tools and of a policy count. */
const OF_MACHINE = ["host", "port", "workers", "machine/*", ...PATHS.filter((place) => !place.startsWith("tools/"))];

/**
 * Identifies the effective settings of a configuration, with its file: equal for servers that run the same one.
 * Secrets, settings that differ by machine, and the order of names are ignored; a path in the file's folder is relative
 * to it.
 */
export function digestOf(settings: readonly Setting[], file: string | undefined): string {
  const folder = file === undefined ? "" : path.join(path.dirname(path.resolve(file)), path.sep);
  const shared = settings.filter(([place]) => !isOneOf(OF_MACHINE, place));
  const text = JSON.stringify(
    Object.fromEntries(shared.map(([place, value]) => [place.join("."), value])),
    (_, value) => (typeof value === "string" && value.startsWith(folder) ? value.slice(folder.length) : inOrder(value)),
  );
  return hash("sha256", text).slice(0, HEX_DIGITS);
}

function inOrder(value: unknown): unknown {
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1)));
}

/** Shows the current configuration as a metric of an engine or a worker machine, in place of the former one. */
export function showConfiguration(registry: Registry, digest: string): void {
  const gauge = registry.getSingleMetric("glovebox_config_info") as Gauge<"digest">;
  gauge.reset();
  gauge.set({ digest }, 1);
}
