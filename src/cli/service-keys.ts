import { forgetVariables, hideKeys, keyOfEnvironment } from "../server/access/secret.ts";
import type { KeyOptions } from "../server/access/key-options.ts";
import { type ChangedKeys, Keys } from "../server/access/keys.ts";
import { Tokens } from "../server/access/tokens.ts";
import { GloveboxError } from "../kernel/base/errors.ts";
import { HIDDEN_VARIABLES } from "../server/config/environment.ts";
import type { Config } from "../server/config/schema.ts";
import { isLoopback } from "../server/http/origin-check.ts";
import { CliError, EXIT } from "./exit.ts";

/** Keys of a service, from its configuration and its environment. */
export class ServiceKeys {
  readonly #environment: NodeJS.ProcessEnv;
  readonly keys: Keys;

  /** `environment`: a copy from the start, as keys are removed from the process's own. Throws a `CliError`. */
  constructor(values: Config, environment: NodeJS.ProcessEnv) {
    this.#environment = environment;
    this.keys = this.#read(values);
  }

  /**
   * Validates the keys of another configuration and returns a function that applies them, and returns the changes.
   * Throws a `CliError`.
   */
  prepare(values: Config): () => ChangedKeys {
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
      if (!(error instanceof TypeError)) throw error;
      throw new CliError(EXIT.USAGE, this.#describe(error.message, this.#optionsOf(values)));
    }
  }

  /** Adds facts for the engine's owner: the variable with the list, and the path of an unreadable file. */
  #describe(message: string, options: readonly KeyOptions[]): string {
    const isOfList = message.startsWith("/keys") && (this.#environment["GLOVEBOX_KEYS"] ?? "") !== "";
    const [, at] = /^\/keys\/(\d+)\/file /.exec(message) ?? [];
    const key = at === undefined ? undefined : options[Number(at)];
    const path = key !== undefined && "file" in key ? `: ${hideKeys(key.file)}` : "";
    return `${isOfList ? "GLOVEBOX_KEYS: " : ""}${message}${path}`;
  }

  #optionsOf({ keys = [] }: Config): readonly KeyOptions[] {
    return [...keys, ...keyOfEnvironment(this.#environment)];
  }
}

/** The tokens that a service accepts besides its keys. Rejects with a `CliError`. */
export async function openTokens(values: Config, environment: NodeJS.ProcessEnv): Promise<Tokens | undefined> {
  if (values.oauth === undefined) return undefined;
  try {
    return await Tokens.open(values.oauth, values.publicUrl, environment);
  } catch (error) {
    if (error instanceof TypeError || error instanceof GloveboxError) throw new CliError(EXIT.USAGE, error.message);
    throw error;
  }
}

/** Removes keys and passwords from an environment, so that no code in the process can read them there. */
export function forgetKeys(environment: NodeJS.ProcessEnv, { keys = [], oauth }: Config): void {
  forgetVariables(environment, keys);
  const secret = oauth?.introspection?.clientSecret;
  if (secret !== undefined && "env" in secret) delete environment[secret.env];
  for (const name of HIDDEN_VARIABLES) delete environment[name];
}

/** Throws a `CliError` unless the host is a loopback address: without keys other machines must not reach the server. */
export function requireLoopback(host: string): void {
  if (isLoopback(host)) return;
  throw new CliError(
    EXIT.USAGE,
    `${host} is reachable from other machines, and no keys are configured: create one with "glovebox keys new", add it to the ` +
      "configuration or GLOVEBOX_KEYS, and start again",
  );
}
