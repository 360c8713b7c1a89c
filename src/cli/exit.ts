/** Exit codes. */
export const EXIT = Object.freeze({
  OK: 0,
  /** The tool failed, or `explain` found a denied request or an unused rule. */
  FAILED: 1,
  /** The command line is invalid, or names a missing file, tool or other item. */
  USAGE: 2,
  /** The input or the tool's package is invalid. */
  INVALID: 3,
  /** The server, or Redis, cannot be reached, or refuses the key. */
  UNREACHABLE: 4,
  /** The call waits, and is kept. Like with an unreachable server, an answer may come later. */
  PAUSED: 4,
  /** A generated file is outdated. */
  STALE: 5,
  /** A workflow's model or its tools failed. */
  RUNTIME: 10,
  /** A workflow's artifact cannot be written, exists already, or leads out of its folder. */
  IO: 12,
  /** A workflow requires an unsupported feature. */
  UNSUPPORTED: 18,
  /** An unexpected error ended a workflow. */
  UNEXPECTED: 70,
  /** Stopped by a second signal; the code that shells use for SIGINT. */
  INTERRUPTED: 130,
});

/** Exit codes as `--help` and the reference describe them. */
export const EXIT_MEANINGS = {
  OK: "The command succeeded.",
  FAILED: "The tool failed, or a check found something.",
  USAGE: "The command line or the configuration is wrong.",
  INVALID: "The input, the tool or its package is not valid.",
  UNREACHABLE: "The server, or Redis, cannot be reached, or refuses the key.",
  PAUSED: "The call waits for somebody, and is kept.",
  STALE: "With `--check`: the file is not what the command would write now.",
  RUNTIME: "A workflow's model or its tools failed.",
  IO: "A workflow's artifact cannot be written.",
  UNSUPPORTED: "A workflow asks for something that Glovebox cannot run.",
  UNEXPECTED: "An unexpected error ended a workflow.",
  INTERRUPTED: "A second signal stopped the command.",
} as const satisfies Record<keyof typeof EXIT, string>;

/** Thrown by commands, with the message for stderr and the exit code. */
export class CliError extends Error {
  override readonly name = "CliError";
  readonly exitCode: number;

  constructor(exitCode: number, message: string) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** The error for the file of an option that cannot be written. `code`: of the system, such as `ENOENT`. */
export function unwritable(option: string, file: string, code = "unknown error"): CliError {
  return new CliError(EXIT.USAGE, `${option} cannot write ${file}: ${code}; make its folder, or name another file`);
}
