/** Category of a workflow's failure: each has its own exit code on the command line. */
export type WorkflowTrouble = "schema" | "runtime" | "io" | "unsupported";

/** Thrown if a workflow cannot be read, run or finished. Match on `trouble`, or on the class. */
export abstract class WorkflowError extends Error {
  abstract readonly trouble: WorkflowTrouble;
}

/** A problem at one place in a workflow. */
export interface SpecProblem {
  /** JSON pointer. */
  readonly pointer: string;
  readonly message: string;
}

const SHOWN_MAX = 5;

/** An invalid workflow file: `problems` lists all errors. */
export class SpecError extends WorkflowError {
  override readonly name = "SpecError";
  readonly trouble = "schema";
  readonly problems: readonly SpecProblem[];

  constructor(file: string, problems: readonly SpecProblem[]) {
    const shown = problems.slice(0, SHOWN_MAX).map(({ message }) => message);
    const more = problems.length > SHOWN_MAX ? `; and ${problems.length - SHOWN_MAX} more` : "";
    super(`${file}: ${shown.join("; ")}${more}`);
    this.problems = problems;
  }
}

/** A template that cannot be rendered; the message names its place. */
export class TemplateError extends WorkflowError {
  override readonly name = "TemplateError";
  readonly trouble = "runtime";
}

/** A tool that a workflow may not use, or that does not exist. */
export class ToolError extends WorkflowError {
  override readonly name = "ToolError";
  readonly trouble = "runtime";
}

/** A model that does not respond, or responds with invalid data. */
export class ProviderError extends WorkflowError {
  override readonly name = "ProviderError";
  readonly trouble = "runtime";
}

/** An agent that exceeded its turns or its text. */
export class TurnLimitError extends WorkflowError {
  override readonly name = "TurnLimitError";
  readonly trouble = "runtime";
}

/** An artifact that cannot be written, or must not be. */
export class ArtifactError extends WorkflowError {
  override readonly name = "ArtifactError";
  readonly trouble = "io";
}

/** A feature of workflows that is not supported here. */
export class UnsupportedError extends WorkflowError {
  override readonly name = "UnsupportedError";
  readonly trouble = "unsupported";
}

/** A variable of a run that is missing, or of another type. */
export class InputError extends WorkflowError {
  override readonly name = "InputError";
  readonly trouble = "schema";
}

/** A run that reached one of its workflow's `runtime.budgets`. */
export class BudgetError extends WorkflowError {
  override readonly name = "BudgetError";
  readonly trouble = "runtime";
}

/** An answer that a pattern cannot use, or a loop that ended without a result. */
export class PatternError extends WorkflowError {
  override readonly name = "PatternError";
  readonly trouble = "runtime";
}
