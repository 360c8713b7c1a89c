import { GloveboxError } from "../errors.ts";

/** The steps from where a package lies to what its tool answers, in their order. */
export type PackageStepName = "fetch" | "extract" | "install" | "initialize" | "execute";

/** A step that was taken, and how long it took. */
export interface PackageStep {
  readonly step: PackageStepName;
  readonly durationMs: number;
}

/** What is wrong with a package, in words: who opens it adds its name and the step. */
export class PackageError extends Error {
  override readonly name = "PackageError";
}

/** The steps of one package. */
export class Steps {
  readonly #name: string;
  readonly #taken: PackageStep[] = [];

  constructor(name: string) {
    this.#name = name;
  }

  get taken(): readonly PackageStep[] {
    return [...this.#taken];
  }

  /** Takes a step. What fails in it rejects with a `GloveboxError` that names package and step, in text and in `details`. */
  async take<Value>(step: PackageStepName, work: () => Promise<Value>): Promise<Value> {
    const start = performance.now();
    try {
      const value = await work();
      this.#taken.push({ step, durationMs: performance.now() - start });
      return value;
    } catch (error) {
      throw stepFailure(this.#name, step, error);
    }
  }
}

function stepFailure(name: string, step: PackageStepName, error: unknown): unknown {
  const failed = (problem: string, code: GloveboxError["code"] = "load_error", details?: unknown): GloveboxError =>
    new GloveboxError(code, `package "${name}": ${step}: ${problem}`, { ...asObject(details), package: name, step });
  if (error instanceof PackageError) return failed(error.message);
  if (error instanceof GloveboxError) return failed(error.message, error.code, error.details);
  // What the system says of a file holds the host's paths, so of that only the code is told.
  if (error instanceof Error && "syscall" in error && "code" in error) {
    return failed(`the system could not do it (${String(error.code)})`);
  }
  return error;
}

function asObject(details: unknown): object {
  return typeof details === "object" && details !== null ? details : {};
}

/** A name out of a package, for messages: hostile input. */
export function quoted(name: string): string {
  return JSON.stringify(name.length > 200 ? `${name.slice(0, 200)}…` : name);
}
