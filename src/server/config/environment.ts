import { parseForWriting } from "../../kernel/base/exact-json.ts";
import { ConfigError, type ConfigFinding } from "./config-error.ts";
import type { Override } from "./configuration.ts";
import { withExactValues } from "./exact-values.ts";
import { HIDDEN, URLS } from "./schema.ts";
import { nearest, PREFIX, readText, type Setting, settingAt, SETTINGS } from "./names.ts";

/** Variables that are not settings: the configuration's path, and a single administrator's key. */
const OTHERS: readonly string[] = ["GLOVEBOX_CONFIG", "GLOVEBOX_KEY"];
/** Variables that commands without a configuration read as well: those of worker machines, and of files of calls. */
const SECRETS: readonly Setting[] = [
  { ...settingAt("executor/secret"), variable: "GLOVEBOX_FLEET_SECRET" },
  { ...settingAt("calls/secret"), variable: "GLOVEBOX_CALLS_SECRET" },
];
/** All settings with their variables. */
const VARIABLES: readonly Setting[] = [...SETTINGS, ...SECRETS];
/** Variables that Kubernetes sets in pods for a service named `glovebox`; their names resemble settings. */
const SERVICE_LINK = /^GLOVEBOX_(?:SERVICE_(?:HOST|PORT\w*)|PORT_\d+_(?:TCP|UDP)\w*)$/;

/** Reads settings from the environment. Throws a `ConfigError` on unknown `GLOVEBOX_` names and unreadable values. */
export function readEnvironment(environment: NodeJS.ProcessEnv): readonly Override[] {
  const known = new Map(VARIABLES.map((setting) => [setting.variable, setting]));
  const findings: ConfigFinding[] = [];
  for (const [name, text = ""] of Object.entries(environment)) {
    if (!name.startsWith(PREFIX) || isServiceLink(name, text)) continue;
    if (known.has(name) || OTHERS.includes(name)) continue;
    const names = [...known.keys(), ...OTHERS].map((one) => one.slice(PREFIX.length));
    const meant = nearest(name.slice(PREFIX.length), names);
    const hint = meant === undefined ? "see glovebox config names" : `is ${PREFIX}${meant} meant?`;
    const message = `there is no such setting; ${hint}`;
    findings.push({ rule: "config/unknown-key", place: name.slice(0, 100), message });
  }
  const overrides = VARIABLES.flatMap(({ path, variable, part }): Override[] => {
    const text = environment[variable];
    // Service managers often cannot omit a variable: treat an empty one as unset.
    if (text === undefined || text === "" || isServiceLink(variable, text)) return [];
    try {
      const read = readText(text, part);
      const value = /^\s*[[{]/.test(text) ? withExactValues(read, () => parseForWriting(text), path) : read;
      return [{ path, value, source: { kind: "variable", name: variable } }];
    } catch {
      findings.push({ rule: "config/syntax", place: variable, message: "it is not JSON" });
      return [];
    }
  });
  const [first] = findings;
  if (first !== undefined) throw new ConfigError(`${first.place}: ${first.message}`, findings);
  return overrides;
}

/** Variables hidden from tools, with any permission to see the environment: their values are, or contain, secrets. */
export const HIDDEN_VARIABLES: readonly string[] = VARIABLES.filter(({ path }) =>
  [...HIDDEN, ...URLS].some((place) => `${place}/`.startsWith(`${path.join("/")}/`)),
).map(({ variable }) => variable);

function isServiceLink(name: string, text: string): boolean {
  return SERVICE_LINK.test(name) || (name === "GLOVEBOX_PORT" && /^(?:tcp|udp):\/\//.test(text));
}
