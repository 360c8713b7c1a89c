import { forgetVariables, keyOfEnvironment } from "../access/secret.ts";
import type { KeyOptions } from "../access/key-options.ts";
import { Keys } from "../access/keys.ts";
import { HIDDEN_VARIABLES } from "../config/environment.ts";
import type { Config } from "../config/schema.ts";
import { isLoopback } from "../http/sites.ts";
import { CliError, EXIT } from "./exit.ts";

/** Who may use a service: what its configuration and its environment say. */
export class ServiceKeys {
  readonly #environment: NodeJS.ProcessEnv;
  readonly keys: Keys;

  /** The environment as it was at the start: keys are taken out of the process's own. Throws a `CliError`. */
  constructor(values: Config, environment: NodeJS.ProcessEnv) {
    this.#environment = environment;
    this.keys = this.#read(values);
  }

  /** Reads the keys of another configuration; to be known from when what is answered is called. Throws a `CliError`. */
  prepare(values: Config): () => void {
    const { size } = this.#read(values);
    if ((size === 0) !== (this.keys.size === 0)) {
      throw new CliError(EXIT.USAGE, "the first key to come, and the last one to go, need a restart");
    }
    return () => this.keys.replace(this.#optionsOf(values), this.#environment);
  }

  #read(values: Config): Keys {
    try {
      return new Keys(this.#optionsOf(values), this.#environment);
    } catch (error) {
      throw error instanceof TypeError ? new CliError(EXIT.USAGE, error.message) : error;
    }
  }

  #optionsOf({ keys = [] }: Config): readonly KeyOptions[] {
    return [...keys, ...keyOfEnvironment(this.#environment)];
  }
}

/** Takes keys and passwords out of an environment: what is not there, nobody finds. */
export function forgetKeys(environment: NodeJS.ProcessEnv, { keys = [] }: Config): void {
  forgetVariables(environment, keys);
  for (const name of HIDDEN_VARIABLES) delete environment[name];
}

/** Without keys, nobody on another machine shall reach the server. */
export function requireLoopback(host: string): void {
  if (isLoopback(host)) return;
  throw new CliError(
    EXIT.USAGE,
    `${host} is reachable from other machines, and no keys are configured: create one with "glovebox keys new", add it to the ` +
      "configuration or GLOVEBOX_KEYS, and start again",
  );
}
