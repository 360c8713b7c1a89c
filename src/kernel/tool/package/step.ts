import { errnoOf, isOfSystem } from "../../base/errno.ts";
import { GloveboxError } from "../../base/errors.ts";

/** The steps from a package's location to its tool's result, in order. */
export type PackageStepName = "fetch" | "extract" | "install" | "initialize" | "execute";

/** A completed or failed step, with its duration. */
export interface PackageEvent {
  readonly package: string;
  readonly step: PackageStepName;
  readonly durationMs: number;
  readonly failed: boolean;
}

/** A problem of a package, in words: the caller adds the package's name and the step. */
export class PackageError extends Error {
  override readonly name = "PackageError";
  readonly details: object;

  constructor(problem: string, details: object = {}) {
    super(problem);
    this.details = details;
  }
}

/** Reports the steps of one package. */
export class Steps {
  readonly #name: string;
  readonly #tell: (event: PackageEvent) => void;

  constructor(name: string, tell: (event: PackageEvent) => void) {
    this.#name = name;
    this.#tell = tell;
  }

  /**
   * Runs a step. Its failure rejects with a `GloveboxError` that names package and step, in its message and in
   * `details`.
   */
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
  // The system's error messages contain paths of the host, so only their code is reported.
  return isOfSystem(error) ? failed(`the operating system reported ${errnoOf(error)}`) : error;
}

function asObject(details: unknown): object {
  return typeof details === "object" && details !== null ? details : {};
}

/** Quotes a name from a package for messages: hostile input. */
export function quoted(name: string): string {
  return JSON.stringify(name.length > 200 ? `${name.slice(0, 200)}…` : name);
}

const URL_SHOWN_MAX = 300;

/** A URL for messages, without its query, which may hold secrets. */
export function shownUrl({ origin, pathname }: URL): string {
  return `${origin}${pathname}`.slice(0, URL_SHOWN_MAX);
}
