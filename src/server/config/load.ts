import type { Config } from "./schema.ts";

export { ConfigError } from "./config-error.ts";

/**
 * Reads `glovebox.config.yaml` or `.json`. Paths in it are relative to its folder. Rejects with a `ConfigError` if it is
 * invalid; `createEngine` checks the meaning of its values.
 */
export async function loadConfig(file: string): Promise<Config> {
  const { readConfiguration } = await import("./configuration.ts");
  return (await readConfiguration(file)).values;
}
