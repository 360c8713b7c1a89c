import { RefusalError } from "./refusal.ts";

/** Maximum size of a module that a tool may import, in bytes. */
export const MAX_SOURCE_BYTES = 4 * 1024 * 1024;
/** The same for tools that the operator names. */
export const MAX_PROJECT_SOURCE_BYTES = 16 * 1024 * 1024;
const MAX_TOTAL_BYTES = 64 * 1024 * 1024;
const SHOWN = 3;
const PACKAGE = /^.*node_modules\/((?:@[^/]+\/)?[^/]+)\//;
const OWN = "its own files";

/** Budget of the sources that one bundle reads, counted by package. */
export class SourceBudget {
  readonly #fileMax: number;
  #bytes = 0;
  readonly #byPackage = new Map<string, number>();

  /** `fileMax`: most bytes of one file. */
  constructor(fileMax: number) {
    this.#fileMax = fileMax;
  }

  /** Begins a bundle. */
  clear(): void {
    this.#bytes = 0;
    this.#byPackage.clear();
  }

  /** Counts a file by its displayed name. Throws a `RefusalError` if it, or the total, is too large. */
  take(shown: string, bytes: number): void {
    const name = PACKAGE.exec(shown)?.[1] ?? OWN;
    this.#byPackage.set(name, (this.#byPackage.get(name) ?? 0) + bytes);
    this.#bytes += bytes;
    if (bytes > this.#fileMax) throw new RefusalError(`${shown} is larger than ${this.#fileMax} bytes`);
    if (this.#bytes > MAX_TOTAL_BYTES)
      throw new RefusalError(`all modules together are larger than ${MAX_TOTAL_BYTES} bytes; ${this.largest()}`);
  }

  /** The packages with most bytes, for a message; empty if none was counted. */
  largest(): string {
    if (this.#byPackage.size === 0) return "";
    const sorted = [...this.#byPackage].sort(([, one], [, other]) => other - one).slice(0, SHOWN);
    return `the largest: ${sorted.map(([name, bytes]) => `${name} (${bytes} bytes)`).join(", ")}`;
  }
}
