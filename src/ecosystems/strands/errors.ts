/** What kind of trouble ends a workflow: each has an exit code of its own on the command line. */
export type WorkflowTrouble = "schema" | "runtime" | "io" | "unsupported";

/** Thrown where a workflow cannot be read, run or finished. Match on `trouble`, or on the class. */
export abstract class WorkflowError extends Error {
  abstract readonly trouble: WorkflowTrouble;
}

/** A place in a workflow, and what is wrong there. */
export interface SpecProblem {
  /** JSON pointer. */
  readonly pointer: string;
  readonly message: string;
}

const SHOWN_MAX = 5;

/** A workflow's file that cannot be used: all that is wrong with it is in `problems`. */
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

/** A template that cannot be filled in; the message names its place. */
export class TemplateError extends WorkflowError {
  override readonly name = "TemplateError";
  readonly trouble = "runtime";
}

/** A tool that a workflow may not have, or that is not there. */
export class ToolError extends WorkflowError {
  override readonly name = "ToolError";
  readonly trouble = "runtime";
}

/** A model that does not answer, or not in a way that can be used. */
export class ProviderError extends WorkflowError {
  override readonly name = "ProviderError";
  readonly trouble = "runtime";
}

/** An agent that goes on and on. */
export class TurnLimitError extends WorkflowError {
  override readonly name = "TurnLimitError";
  readonly trouble = "runtime";
}

/** An artifact that cannot, or must not, be written. */
export class ArtifactError extends WorkflowError {
  override readonly name = "ArtifactError";
  readonly trouble = "io";
}

/** Something that workflows may say, and that cannot be run here. */
export class UnsupportedError extends WorkflowError {
  override readonly name = "UnsupportedError";
  readonly trouble = "unsupported";
}
