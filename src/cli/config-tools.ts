import { matchesName } from "../kernel/base/name-patterns.ts";
import { stat } from "node:fs/promises";
import { OPERATOR } from "../kernel/broker/policy.ts";
import type { ToolInfo } from "../kernel/tool/definition.ts";
import { RUNTIMES } from "../standard/plugins.ts";
import { findSources } from "../kernel/tool/source.ts";
import { isUrl } from "../kernel/tool/package/location.ts";
import type { ConfigFinding } from "../server/config/config-error.ts";
import { nearest } from "../server/config/names.ts";
import type { Config } from "../server/config/schema.ts";
import { openEmptyEngine } from "./open-engine.ts";

/** A mistake of a setting, without its place yet. */
export interface SettingMistake extends Pick<ConfigFinding, "rule" | "severity" | "message"> {
  readonly path: readonly string[];
}

/** Finds tools of a configuration that do not exist or do not load, and rules that match no tool. */
export async function findToolMistakes(values: Config): Promise<readonly SettingMistake[]> {
  const missing = await findMissing(values);
  const tools = (values.tools ?? []).map((tool) => (typeof tool === "string" ? { path: tool } : tool));
  if (tools.length === 0) return missing;
  const { root, packages, limits = {}, maxLimits = {} } = values;
  const given = { ...(root === undefined ? {} : { root }), ...(packages === undefined ? {} : { packages }) };
  await using engine = await openEmptyEngine(
    { ...given, limits, maxLimits },
    { workers: 1, executor: { kind: "process", spare: false } },
  );
  const mistakes: SettingMistake[] = [...missing];
  const cuts: SettingMistake[] = [];
  let place: readonly string[] = [];
  engine.on("tool:register", ({ info: { name }, cut }) => {
    for (const { limit, declared, value } of cut) {
      const message = `${JSON.stringify(name)} declares ${limit} ${declared} and has ${value}: raise maxLimits.${limit} to allow more`;
      cuts.push({ rule: "tools/limits", severity: "warning", path: place, message });
    }
  });
  for (const [at, tool] of tools.entries()) {
    if (missing.some(({ path }) => path[0] === "tools" && path[1] === `${at}`)) continue;
    const path = ["tools", `${at}`];
    place = path;
    const failures = await Promise.all(
      (await sourcesAt(tool.path)).map((source) =>
        engine.register({ ...tool, path: source }).then(
          () => null,
          (error: unknown) => (error instanceof Error ? error.message : String(error)),
        ),
      ),
    );
    mistakes.push(
      ...failures.flatMap((message) => (message === null ? [] : [{ rule: "tools/load" as const, path, message }])),
    );
  }
  // All are registered once more below.
  const warnings = [...cuts];
  if (mistakes.length === 0 && tools.length > 1) {
    // Only together do they show a name that is in two places.
    const message = await engine.reconfigure({ ...given, tools }).then(
      () => null,
      (error: unknown) => (error instanceof Error ? error.message : String(error)),
    );
    if (message !== null) mistakes.push({ rule: "tools/load", path: ["tools"], message });
  }
  // The rule may be for the tool that does not load.
  const unmatched = mistakes.length > missing.length ? [] : findUnmatched(values, engine.list());
  return [...mistakes, ...warnings, ...unmatched];
}

/** The modules in a folder one by one, so that each mistake is found; the path itself if it has a mistake. */
async function sourcesAt(given: string): Promise<readonly string[]> {
  return findSources(given, { runtimes: RUNTIMES }).then(
    (sources) => sources.map(({ path }) => path),
    () => [given],
  );
}

async function findMissing({ tools = [] }: Config): Promise<readonly SettingMistake[]> {
  const found = await Promise.all(
    tools.map(async (tool, at): Promise<SettingMistake[]> => {
      const file = typeof tool === "string" ? tool : tool.path;
      if (isUrl(file) || (await stat(file).catch(() => null)) !== null) return [];
      const path = ["tools", `${at}`, ...(typeof tool === "string" ? [] : ["path"])];
      const message = `${path.join(".")}: there is no file or folder ${JSON.stringify(file)}`;
      return [{ rule: "config/missing-file", path, message }];
    }),
  );
  return found.flat();
}

/** Names of rules that match none of the operator's tools. Others register theirs later. */
function findUnmatched({ policy, connectors, keys }: Config, tools: readonly ToolInfo[]): readonly SettingMistake[] {
  if (keys?.some(({ roles }) => roles?.includes("admin")) === true) return [];
  const names = tools.map(({ name }) => name);
  const isElsewhere = (wanted: string): boolean =>
    Object.keys(connectors ?? {}).some((one) => wanted.startsWith(`${one}.`));
  return (policy?.rules ?? []).flatMap(({ tools: wanted = [], registrants = [OPERATOR] }, at) => {
    if (!registrants.every((one) => one === OPERATOR)) return [];
    return wanted.flatMap((name, nth): SettingMistake[] => {
      if (names.some((one) => matchesName(name, one)) || isElsewhere(name)) return [];
      const meant = nearest(name.replace(/\*$/, ""), names);
      const hint = meant === undefined ? "" : `; there is ${JSON.stringify(meant)}`;
      const message = `no tool is named ${JSON.stringify(name.slice(0, 100))}${hint}`;
      const path = ["policy", "rules", `${at}`, "tools", `${nth}`];
      return [{ rule: "policy/matches-nothing", severity: "warning", path, message }];
    });
  });
}
