import type { Position } from "../../kernel/base/yaml-text.ts";

/** A change of the file that repairs a mistake without a decision of its author. */
export type ConfigFix =
  | { readonly kind: "rename"; readonly path: readonly string[]; readonly to: string }
  | { readonly kind: "value"; readonly path: readonly string[]; readonly value: string | number | boolean };

/** One mistake in a configuration. */
export interface ConfigFinding {
  /** The kind of mistake, for filters: `config/unknown-key`. */
  readonly rule:
    | "config/file"
    | "config/syntax"
    | "config/unknown-key"
    | "config/value"
    | "config/meaning"
    | "config/missing-file"
    | "config/missing-package"
    | "policy/unknown-capability"
    | "policy/matches-nothing"
    | "tools/limits"
    | "tools/load";
  /** A `warning` does not make the configuration invalid. Default: `error`. */
  readonly severity?: "warning";
  /** `glovebox.config.yaml:7:3`, a variable, or a flag; empty if the mistake has no single place. */
  readonly place: string;
  /** The position in the file, if the mistake is there. */
  readonly position?: Position;
  /** JSON pointer to the setting, if it is known. */
  readonly pointer?: string;
  readonly message: string;
  /** Absent if the repair needs a decision of the author. */
  readonly fix?: ConfigFix;
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
