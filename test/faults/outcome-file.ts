/** Outcomes of the last runs, from which a page is made. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

export type Kept<Outcome> = Outcome & {
  /** The day on which it was measured. */
  readonly on: string;
};

export class OutcomeFile<Outcome extends object> {
  readonly #path: string;
  readonly #nameOf: (outcome: Outcome) => string;

  constructor(url: URL, nameOf: (outcome: Outcome) => string) {
    this.#path = fileURLToPath(url);
    this.#nameOf = nameOf;
  }

  read(): readonly Kept<Outcome>[] {
    return existsSync(this.#path) ? (JSON.parse(readFileSync(this.#path, "utf8")) as readonly Kept<Outcome>[]) : [];
  }

  /** Puts an outcome in the place of that of the same name, in the order of all names. Others are dropped. */
  keep(outcome: Outcome, names: readonly string[]): void {
    const on = new Date().toISOString().slice(0, "2026-01-31".length);
    const all = new Map(this.read().map((one) => [this.#nameOf(one), one]));
    all.set(this.#nameOf(outcome), { ...outcome, on });
    const kept = names.flatMap((name) => all.get(name) ?? []);
    writeFileSync(this.#path, `${JSON.stringify(kept, null, 2)}\n`);
  }
}
