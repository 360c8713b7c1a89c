/** Exit codes. */
export const EXIT = Object.freeze({
  OK: 0,
  /** The tool failed, or `explain` found a denied request or an unused rule. */
  FAILED: 1,
  /** The command line is invalid, or names something that does not exist. */
  USAGE: 2,
  /** The input or the tool's package is invalid. */
  INVALID: 3,
  /** A generated file is not what it would be now. */
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

/** Thrown by commands, with the message for stderr and the exit code. */
export class CliError extends Error {
  override readonly name = "CliError";
  readonly exitCode: number;

  constructor(exitCode: number, message: string) {
    super(message);
    this.exitCode = exitCode;
  }
}
