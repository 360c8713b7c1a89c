import type { Config } from "./schema.ts";

export { ConfigError } from "./config-error.ts";

/**
 * Reads `glovebox.config.yaml` or `.json`. Paths in it are meant from where it lies. Rejects with a `ConfigError`
 * where it is not one; what its values mean, `createEngine` checks.
 */
export async function loadConfig(file: string): Promise<Config> {
  const { readConfiguration } = await import("./configuration.ts");
  return (await readConfiguration(file)).values;
}
