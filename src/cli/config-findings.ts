import { hideKeys } from "../server/access/secret.ts";
import { isObject, pointerSegment } from "../kernel/base/json.ts";
import { ConfigError, type ConfigFinding } from "../server/config/config-error.ts";
import { chosenConfig } from "../server/config/config-file.ts";
import { type Configuration, readLeniently, type Source } from "../server/config/configuration.ts";
import { SERVICE_DEFAULTS } from "../server/config/effective.ts";
import { readEnvironment } from "../server/config/environment.ts";
import type { Config } from "../server/config/schema.ts";
import { nearest } from "../server/config/names.ts";
import { findServiceMistakes } from "./config-service.ts";
import { findToolMistakes, type SettingMistake } from "./config-tools.ts";
import { isLoopback } from "../server/http/origin-check.ts";
import { checkOptions } from "./open-engine.ts";
import { ServiceKeys } from "./service-keys.ts";

/** Maximum number of semantic mistakes: each costs one more check. */
const FINDINGS_MAX = 50;
/** Name of a setting at the start of a message: `policy.rules[0].allow.fetch/origins/0`. */
const SETTING = /^\/?(\w+(?:[./[\]]+\w+)*)/;

/**
 * Finds every mistake in the configuration that a command would use: in environment variables, in the file, and in its
 * meaning.
 */
export async function findMistakes(
  file: string | undefined,
  environment: NodeJS.ProcessEnv,
): Promise<{ readonly file: string | undefined; readonly findings: readonly ConfigFinding[] }> {
  const found: ConfigFinding[] = [];
  const orFind = async <Value>(read: () => Value | Promise<Value>): Promise<Value | undefined> => {
    try {
      return await read();
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      found.push(...error.findings);
      return undefined;
    }
  };
  const overrides = (await orFind(() => readEnvironment(environment))) ?? [];
  const used = await chosenConfig(file, environment);
  const read = await orFind(() => readLeniently(used, overrides, true));
  if (read === undefined) return { file: used, findings: found };
  found.push(...(read.error?.findings ?? []));
  found.push(...(await findWrongMeanings(read.configuration, environment)));
  found.sort((one, other) => one.place.localeCompare(other.place, "en", { numeric: true }));
  return { file: used, findings: found };
}

/**
 * Finds values that the engine or the service refuses: leaves out each refused setting and checks again until nothing
 * is refused.
 */
async function findWrongMeanings(
  { values, sourceOf }: Configuration,
  environment: NodeJS.ProcessEnv,
): Promise<readonly ConfigFinding[]> {
  const found: ConfigFinding[] = [];
  const put = ({ path, message, ...kind }: SettingMistake): void => {
    const source = path.length === 0 ? null : sourceOf(path);
    const pointer = path.map(pointerSegment).join("");
    const position = source?.kind === "file" ? { position: { line: source.line, column: source.column } } : {};
    found.push({ ...kind, place: describePlace(source), pointer, message: hideKeys(message), ...position });
  };
  const add = (message: string, path: readonly string[] = pathIn(message, values)): void => {
    const rule = message.includes("which is not installed") ? "config/missing-package" : "config/meaning";
    put({ rule, path, message });
  };
  const { keys = [], admin, host = SERVICE_DEFAULTS.host } = values;
  const wrongKeys = keys.flatMap((key, at) => {
    const message = refusalOf(() => new ServiceKeys({ keys: [key] }, environment));
    // Each key is checked alone, as the first one.
    return message === null ? [] : [message.replace("/keys/0", `/keys/${at}`)];
  });
  for (const message of wrongKeys) add(message);
  const twins = wrongKeys.length > 0 ? null : refusalOf(() => new ServiceKeys(values, environment));
  if (twins !== null) add(twins);
  // An invalid setting was left out, but exists all the same.
  const isWrong = (name: "keys" | "oauth"): boolean =>
    values[name] === undefined && sourceOf([name]).kind !== "default";
  const isAnyWrong = wrongKeys.length > 0 || twins !== null || isWrong("keys") || isWrong("oauth");
  const hasKeys = isAnyWrong || values.oauth !== undefined || new ServiceKeys(values, environment).keys.size > 0;
  for (const mistake of await findServiceMistakes(values, hasKeys)) put(mistake);
  if (admin === "open" && !isLoopback(host)) add(`admin is "open", and ${host} is not a loopback address`, ["admin"]);
  let rest: Config = values;
  let last: string | null = null;
  while (found.length < FINDINGS_MAX) {
    const message = await checkOptions(rest).then(
      ({ unknown, capabilities }) => {
        for (const { rule, name } of unknown) put(unknownCapability(rule, name, capabilities));
        return null;
      },
      (error: unknown) => messageOf(error),
    );
    if (message === null) break;
    // A required setting that was left out is refused again; this time the path ends at the setting around it.
    const setting = settingIn(message);
    if (setting !== last) add(message);
    last = setting;
    const path = pathIn(message, rest);
    // Without a path no setting can be left out, and the next check would fail in the same way.
    if (path.length === 0) break;
    rest = without(rest, path) as Config;
  }
  for (const mistake of await findToolMistakes(rest)) put(mistake);
  return found.slice(0, FINDINGS_MAX);
}

function unknownCapability(rule: number, name: string, capabilities: readonly string[]): SettingMistake {
  const meant = nearest(name, capabilities);
  const hint = meant === undefined ? "; an embedder may have one" : `; is ${meant} meant?`;
  const path = ["policy", "rules", `${rule}`, "allow", name];
  const message = `there is no capability ${JSON.stringify(name.slice(0, 64))} here${hint}`;
  return { rule: "policy/unknown-capability", severity: "warning", path, message };
}

function refusalOf(check: () => unknown): string | null {
  try {
    check();
    return null;
  } catch (error) {
    return messageOf(error);
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function settingIn(message: string): string {
  return SETTING.exec(message)?.[1] ?? "";
}

/** Path of the setting that a message names, as far as the values contain it. */
function pathIn(message: string, values: unknown): readonly string[] {
  const names = settingIn(message).split(/[./[\]]+/);
  const path: string[] = [];
  let value = values;
  for (const name of names) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) break;
    path.push(name);
    value = Reflect.get(value, name);
  }
  return path;
}

/** Copies a value without the setting at a path. List items stay, so that the indexes of the others do not change. */
function without(value: unknown, [name = "", ...rest]: readonly string[]): unknown {
  if (Array.isArray(value))
    return value.map((item, at) => (String(at) === name ? without(item, rest) : (item as unknown)));
  if (!isObject(value)) return value;
  const inner = value[name];
  const { [name]: _left, ...others } = value;
  const isInside = rest.length > 0 && (isObject(inner) || rest.length > 1);
  return isInside ? { ...others, [name]: without(inner, rest) } : others;
}

function describePlace(source: Source | null): string {
  if (source === null) return "";
  switch (source.kind) {
    case "file":
      return `${source.file}:${source.line}:${source.column}`;
    case "variable":
    case "flag":
      return source.name;
    case "default":
      return "";
    default:
      return source satisfies never;
  }
}
