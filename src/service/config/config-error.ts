/** One mistake in a configuration. */
export interface ConfigFinding {
  /** The kind of mistake, for filters: `config/unknown-key`. */
  readonly rule: "config/file" | "config/syntax" | "config/unknown-key" | "config/value" | "config/meaning";
  /** `glovebox.config.yaml:7:3`, a variable, or a flag; empty if the mistake has no single place. */
  readonly place: string;
  readonly message: string;
}

/** Thrown if a configuration is unusable; the message names the file and position of the first mistake. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
  readonly findings: readonly ConfigFinding[];

  constructor(message: string, findings?: readonly ConfigFinding[]) {
    super(message);
    this.findings = findings ?? [{ rule: "config/file", place: "", message }];
  }
}
