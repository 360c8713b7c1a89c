import type { Configuration } from "../config/configuration.ts";
import type { Config } from "../config/schema.ts";
import type { Engine } from "../../engine/engine.ts";
import type { EngineOptions } from "../../engine/options.ts";
import type { Reconfigured } from "../../engine/telemetry/events.ts";
import { engineOptions } from "./open-engine.ts";
import { say } from "./output.ts";
import type { ServiceKeys } from "./service-keys.ts";

/** What a service is made of, as far as a configuration that has changed concerns it. */
export interface Reloadable {
  readonly engine: Engine;
  readonly logger: { level: string };
  /** Who may use the service. */
  readonly keys: ServiceKeys;
  /** Reads the configuration again, from where it came from. Rejects where it cannot be used. */
  readonly read: () => Promise<Configuration>;
  /** What the engine has besides what the configuration says. */
  readonly complete: (options: EngineOptions) => EngineOptions;
}

/** Settings of the server, and of the store beside it, which are made once. */
const OF_SERVER = [
  "host",
  "port",
  "reusePort",
  "bodyBytes",
  "drainMs",
  "drainDelayMs",
  "assets",
  "hosts",
  "publicUrl",
  "origins",
  "admin",
  "idempotency",
] as const;

/** A service whose configuration can be read again while calls run. */
export class Reload {
  readonly #service: Reloadable;
  #values: Config;
  #last: Promise<boolean> = Promise.resolve(true);

  constructor(service: Reloadable, values: Config) {
    this.#service = service;
    this.#values = values;
  }

  /**
   * Puts in force what the configuration says now, or nothing of it where anything is wrong, and says which. Answers
   * whether it is in force. One goes after the other.
   */
  run(): Promise<boolean> {
    this.#last = this.#last.then(() => this.#run());
    return this.#last;
  }

  async #run(): Promise<boolean> {
    const { engine, logger, keys, read, complete } = this.#service;
    try {
      const { values } = await read();
      const replaceKeys = keys.prepare(values);
      const changed = await engine.reconfigure(complete(engineOptions(values)));
      replaceKeys();
      logger.level = values.logLevel ?? "warn";
      const ofServer = OF_SERVER.filter((name) => JSON.stringify(values[name]) !== JSON.stringify(this.#values[name]));
      this.#values = { ...values, ...pick(this.#values, ofServer) };
      tell(changed, ofServer);
      return true;
    } catch (error) {
      say(`glovebox: not reloaded, nothing has changed: ${error instanceof Error ? error.message : String(error)}`);
      return false;
    }
  }
}

/** What a restart would change is still to be said at the next reload. */
function pick(values: Config, names: readonly (keyof Config)[]): Config {
  return Object.fromEntries(names.map((name) => [name, values[name]]));
}

function tell(changed: Reconfigured, ofServer: readonly string[]): void {
  const { registered, replaced, removed, isPolicyChanged, areLimitsChanged, needRestart } = changed;
  const said = [
    ...tools("new", registered),
    ...tools("changed", replaced),
    ...tools("gone", removed),
    ...(isPolicyChanged ? ["another policy"] : []),
    ...(areLimitsChanged ? ["other limits"] : []),
  ];
  say(`glovebox: reloaded: ${said.length === 0 ? "nothing has changed" : said.join("; ")}`);
  const late = [...ofServer, ...needRestart];
  if (late.length > 0) say(`glovebox: warning: changed, but in force only after a restart: ${late.join(", ")}`);
}

const SHOWN = 10;

function tools(what: string, names: readonly string[]): readonly string[] {
  if (names.length === 0) return [];
  const more = names.length > SHOWN ? ` and ${names.length - SHOWN} more` : "";
  return [`tools ${what}: ${names.slice(0, SHOWN).join(", ")}${more}`];
}
