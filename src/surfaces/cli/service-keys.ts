import { forgetVariables, keyOfEnvironment } from "../../access/environment.ts";
import { Keys } from "../../access/keys.ts";
import type { Config } from "../../index.ts";
import { isLoopback } from "../http/sites.ts";
import { CliError, EXIT } from "./exit.ts";

/** The keys of a configuration and of the environment, of which only hashes are left. */
export function readKeys({ keys = [] }: Config, environment: NodeJS.ProcessEnv): Keys {
  try {
    return new Keys([...keys, ...keyOfEnvironment(environment)], environment);
  } catch (error) {
    throw error instanceof TypeError ? new CliError(EXIT.USAGE, error.message) : error;
  }
}

/** Takes keys out of an environment: what is not there, nobody finds. */
export function forgetKeys(environment: NodeJS.ProcessEnv, { keys = [] }: Config): void {
  forgetVariables(environment, keys);
}

/** Without keys, nobody on another machine shall reach the server. */
export function requireLoopback(host: string): void {
  if (isLoopback(host)) return;
  throw new CliError(
    EXIT.USAGE,
    `other machines reach ${host}, and there are no keys: make one with "glovebox keys new", write it into the ` +
      "configuration or GLOVEBOX_KEYS, and start again",
  );
}
