import { GloveboxError } from "../../base/errors.ts";

/** The steps from where a package lies to what its tool answers, in their order. */
export type PackageStepName = "fetch" | "extract" | "install" | "initialize" | "execute";

/** A step that was taken, or failed, and how long it took. */
export interface PackageEvent {
  readonly package: string;
  readonly step: PackageStepName;
  readonly durationMs: number;
  readonly failed: boolean;
}

/** What is wrong with a package, in words: who opens it adds its name and the step. */
export class PackageError extends Error {
  override readonly name = "PackageError";
  readonly details: object;

  constructor(problem: string, details: object = {}) {
    super(problem);
    this.details = details;
  }
}

/** The steps of one package. */
export class Steps {
  readonly #name: string;
  readonly #tell: (event: PackageEvent) => void;

  constructor(name: string, tell: (event: PackageEvent) => void) {
    this.#name = name;
    this.#tell = tell;
  }

  /** Takes a step. What fails in it rejects with a `GloveboxError` that names package and step, in text and in `details`. */
  async take<Value>(step: PackageStepName, work: () => Promise<Value>): Promise<Value> {
    const start = performance.now();
    let failed = true;
    try {
      const value = await work();
      failed = false;
      return value;
    } catch (error) {
      throw stepFailure(this.#name, step, error);
    } finally {
      this.#tell({ package: this.#name, step, durationMs: performance.now() - start, failed });
    }
  }
}

function stepFailure(name: string, step: PackageStepName, error: unknown): unknown {
  const failed = (problem: string, code: GloveboxError["code"] = "load_error", details?: unknown): GloveboxError =>
    new GloveboxError(code, `package "${name}": ${step}: ${problem}`, { ...asObject(details), package: name, step });
  if (error instanceof PackageError) return failed(error.message, "load_error", error.details);
  if (error instanceof GloveboxError) return failed(error.message, error.code, error.details);
  // What the system says of a file holds the host's paths, so of that only the code is told.
  if (error instanceof Error && "syscall" in error && "code" in error) {
    return failed(`the operating system reported ${String(error.code)}`);
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
