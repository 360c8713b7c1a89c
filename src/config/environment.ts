import { ConfigError } from "./config-error.ts";
import type { Override } from "./configuration.ts";
import { nearest, readText, type Setting, settingAt, SETTINGS } from "./names.ts";

/** Names that are no setting's: where the configuration is, and a lone administrator's key. */
const OTHERS: readonly string[] = ["GLOVEBOX_CONFIG", "GLOVEBOX_KEY"];
const FLEET_SECRET = "GLOVEBOX_FLEET_SECRET";
/** Every setting by its variable; servers and worker machines have one name for their fleet's secret. */
const VARIABLES: readonly Setting[] = [...SETTINGS, { ...settingAt("executor/secret"), variable: FLEET_SECRET }];
/** Names that may hold the secret of a fleet, or the password of its Redis. */
const FLEET_NAMES = [FLEET_SECRET, "GLOVEBOX_EXECUTOR__SECRET", "GLOVEBOX_EXECUTOR__URL", "GLOVEBOX_EXECUTOR"];
/** What Kubernetes tells a pod of a service called `glovebox`, in names that look like ours. */
const SERVICE_LINK = /^GLOVEBOX_(?:SERVICE_(?:HOST|PORT\w*)|PORT_\d+_(?:TCP|UDP)\w*)$/;

/** What the environment says. Throws a `ConfigError` where a name is none of ours, and where a value cannot be read. */
export function readEnvironment(environment: NodeJS.ProcessEnv): readonly Override[] {
  const known = new Map(VARIABLES.map((setting) => [setting.variable, setting]));
  for (const [name, text = ""] of Object.entries(environment)) {
    if (!name.startsWith("GLOVEBOX_") || isServiceLink(name, text)) continue;
    if (known.has(name) || OTHERS.includes(name)) continue;
    const meant = nearest(name, [...known.keys(), ...OTHERS]);
    const hint = meant === undefined ? "see glovebox config names" : `is ${meant} meant?`;
    throw new ConfigError(`${name.slice(0, 100)}: there is no such setting; ${hint}`);
  }
  return VARIABLES.flatMap(({ path, variable, part }): Override[] => {
    const text = environment[variable];
    // What starts services often has no way to leave a variable out.
    if (text === undefined || text === "" || isServiceLink(variable, text)) return [];
    try {
      return [{ path, value: readText(text, part), source: { kind: "variable", name: variable } }];
    } catch {
      throw new ConfigError(`${variable}: it is not JSON`);
    }
  });
}

/** Takes what only a fleet shall know out of the environment once it has been read: what is not there, nobody finds. */
export function forgetFleet(environment: NodeJS.ProcessEnv): void {
  for (const name of FLEET_NAMES) delete environment[name];
}

function isServiceLink(name: string, text: string): boolean {
  return SERVICE_LINK.test(name) || (name === "GLOVEBOX_PORT" && /^(?:tcp|udp):\/\//.test(text));
}
