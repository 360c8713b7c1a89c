/** Thrown where a configuration cannot be used; the message names the file and the place. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
}
