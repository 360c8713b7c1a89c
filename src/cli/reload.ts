import type { Configuration } from "../server/config/configuration.ts";
import { digestOf, showConfiguration } from "../server/config/digest.ts";
import { type Setting, settingsOf } from "../server/config/effective.ts";
import type { Config } from "../server/config/schema.ts";
import type { Engine } from "../kernel/engine/engine.ts";
import type { EngineOptions } from "../kernel/engine/options.ts";
import type { Reconfigured } from "../kernel/engine/telemetry/events.ts";
import { filesOfFailure } from "../kernel/tool/bundle/error.ts";
import { engineOptions } from "./open-engine.ts";
import { say } from "./output.ts";
import type { ChangedKeys } from "../server/access/keys.ts";
import type { ServiceKeys } from "./service-keys.ts";

/** Parts of a service that a changed configuration affects. */
export interface Reloadable {
  readonly engine: Engine;
  readonly logger: { level: string };
  readonly keys: ServiceKeys;
  /** Reads the configuration again from its sources. Rejects if it is invalid. */
  readonly read: () => Promise<Configuration>;
  /** Adds engine options that do not come from the configuration. */
  readonly complete: (options: EngineOptions) => EngineOptions;
}

/** Settings of the server and its store, which take effect only at a restart. */
const OF_SERVER = [
  "host",
  "port",
  "reusePort",
  "bodyBytes",
  "drainMs",
  "drainDelayMs",
  "assets",
  "agentspace",
  "hosts",
  "publicUrl",
  "origins",
  "admin",
  "oauth",
  "idempotency",
] as const;

/** Reloads a service's configuration while calls run. */
export class Reload {
  readonly #service: Reloadable;
  #values: Config;
  /** Effective settings, of which those that need a restart are older than the values. */
  #inForce: readonly Setting[];
  readonly #file: string | undefined;
  #last: Promise<boolean> = Promise.resolve(true);
  #failedFiles: readonly string[] = [];

  constructor(service: Reloadable, { values, file }: Configuration) {
    this.#service = service;
    this.#values = values;
    this.#inForce = settingsOf(values);
    this.#file = file;
    this.#show();
  }

  /** The files of the tool for which the last reload was refused, of which one may be the reason. */
  get failedFiles(): readonly string[] {
    return this.#failedFiles;
  }

  /**
   * Applies the current configuration, or no part of it if any part is invalid, and reports the result on stderr.
   * Returns whether it was applied. Reloads run one after the other.
   */
  run(): Promise<boolean> {
    this.#last = this.#last.then(() => this.#run());
    return this.#last;
  }

  async #run(): Promise<boolean> {
    const { engine, logger, keys, read, complete } = this.#service;
    this.#failedFiles = [];
    try {
      const { values } = await read();
      const settings = settingsOf(values);
      const replaceKeys = keys.prepare(values);
      const changed = await engine.reconfigure(complete(engineOptions(values)));
      const changedKeys = replaceKeys();
      const { level } = logger;
      logger.level = values.logLevel ?? "warn";
      const ofServer = OF_SERVER.filter((name) => JSON.stringify(values[name]) !== JSON.stringify(this.#values[name]));
      this.#values = { ...values, ...pick(this.#values, ofServer) };
      const late = new Set<string | undefined>([...ofServer, ...changed.needRestart]);
      const kept = this.#inForce.filter(([[name]]) => late.has(name));
      this.#inForce = [...settings.filter(([[name]]) => !late.has(name)), ...kept];
      this.#show();
      engine.emit("config:reload", { isApplied: true });
      tell(changed, ofServer, [
        ...keysOf(changedKeys),
        ...(logger.level === level ? [] : [`log level ${logger.level}`]),
      ]);
      return true;
    } catch (error) {
      this.#failedFiles = filesOfFailure(error);
      const reason = error instanceof Error ? error.message : String(error);
      engine.emit("config:reload", { isApplied: false, reason });
      const { reload } = engine.stats();
      say(`glovebox: warning: not reloaded, nothing has changed: ${reason}`, { event: "config:reload", ...reload });
      return false;
    }
  }

  #show(): void {
    showConfiguration(this.#service.engine.registry, digestOf(this.#inForce, this.#file));
  }
}

/** Keeps the old values of settings that need a restart, so that the next reload reports them again. */
function pick(values: Config, names: readonly (keyof Config)[]): Config {
  return Object.fromEntries(names.map((name) => [name, values[name]]));
}

function tell(changed: Reconfigured, ofServer: readonly string[], ofService: readonly string[]): void {
  const { registered, replaced, removed, isPolicyChanged, areLimitsChanged, needRestart } = changed;
  const said = [
    ...listed("tools new", registered),
    ...listed("tools changed", replaced),
    ...listed("tools gone", removed),
    ...(isPolicyChanged ? ["another policy"] : []),
    ...(areLimitsChanged ? ["other limits"] : []),
    ...ofService,
  ];
  say(`glovebox: reloaded: ${said.length === 0 ? "nothing has changed" : said.join("; ")}`);
  const late = [...ofServer, ...needRestart];
  if (late.length > 0) say(`glovebox: warning: changed, but in force only after a restart: ${late.join(", ")}`);
}

const SHOWN = 10;

function keysOf({ added, changed, removed }: ChangedKeys): readonly string[] {
  return [...listed("keys new", added), ...listed("keys changed", changed), ...listed("keys gone", removed)];
}

function listed(what: string, names: readonly string[]): readonly string[] {
  if (names.length === 0) return [];
  const more = names.length > SHOWN ? ` and ${names.length - SHOWN} more` : "";
  return [`${what}: ${names.slice(0, SHOWN).join(", ")}${more}`];
}
