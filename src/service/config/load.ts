import { readConfiguration } from "./configuration.ts";
import type { Config } from "./schema.ts";

export { ConfigError } from "./config-error.ts";

/**
 * Reads `glovebox.config.yaml` or `.json`. Paths in it are meant from where it lies. Rejects with a `ConfigError`
 * where it is not one; what its values mean, `createEngine` checks.
 */
export async function loadConfig(file: string): Promise<Config> {
  return (await readConfiguration(file)).values;
}
