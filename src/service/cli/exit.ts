/** How the command ends, as shells see it. */
export const EXIT = Object.freeze({
  OK: 0,
  /** The tool failed, or `explain` found a denied request or an unused rule. */
  FAILED: 1,
  /** The command line asks for what there is not. */
  USAGE: 2,
  /** The input, or the tool's package, is not valid. */
  INVALID: 3,
  /** A workflow's model or its tools failed. */
  RUNTIME: 10,
  /** A workflow's artifact cannot, or must not, be written. */
  IO: 12,
  /** A workflow asks for something that cannot be run here. */
  UNSUPPORTED: 18,
  /** Something that nobody thought of ended a workflow. */
  UNEXPECTED: 70,
  /** Stopped by a second signal, as if the first had ended it. */
  INTERRUPTED: 130,
});

/** Thrown by commands: what to say on stderr, and how to end. */
export class CliError extends Error {
  override readonly name = "CliError";
  readonly exitCode: number;

  constructor(exitCode: number, message: string) {
    super(message);
    this.exitCode = exitCode;
  }
}
