import { GloveboxError } from "../../base/errors.ts";
import { memberOf } from "../../base/json.ts";

/** A mistake in a program. Lines and columns count from 1. */
export interface ProgramProblem {
  readonly line: number;
  readonly column: number;
  /** `syntax`, `import`, or the number of a TypeScript diagnostic. */
  readonly code: string;
  readonly message: string;
}

const PROBLEMS_MAX = 20;

/** The problems that an error of `problemError` names; none for any other. */
export function problemsOf(error: unknown): readonly ProgramProblem[] {
  const problems = error instanceof GloveboxError ? memberOf(error.details, "problems") : undefined;
  return Array.isArray(problems) ? (problems as readonly ProgramProblem[]) : [];
}

/** An error, `invalid_arguments`, that names the problems of a program. */
export function problemError(problems: readonly ProgramProblem[]): GloveboxError {
  const shown = problems.slice(0, PROBLEMS_MAX);
  const count = problems.length === 1 ? "1 mistake" : `${problems.length} mistakes`;
  const lines = shown.map(({ line, column, message }) => `${line}:${column}  ${message}`);
  const message = [
    `The program was not run: ${count}.`,
    ...lines,
    "Correct these lines and send the whole program again.",
  ].join("\n");
  return new GloveboxError("invalid_arguments", message, { problems: shown });
}
