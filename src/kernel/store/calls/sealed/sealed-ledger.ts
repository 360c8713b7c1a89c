import { StoreError } from "../../../base/errors.ts";
import { type Seal, SealError } from "../../seal.ts";
import type { KeyedCall, LedgerAnswer, LedgerStep } from "../ledger.ts";
import type { LedgerTables } from "../ledger-tables.ts";

/** The ledger of a sealed file: digests are keyed, so keys and arguments cannot be guessed; results are sealed. */
export class SealedLedger {
  readonly #tables: LedgerTables;
  readonly #seal: Seal;

  constructor(tables: LedgerTables, seal: Seal) {
    this.#tables = tables;
    this.#seal = seal;
  }

  /** As `LedgerTables`. A call whose result was changed gets a `StoreError`: it does not run again. */
  take(steps: readonly LedgerStep[], nowMs: number): readonly (LedgerAnswer | StoreError)[] {
    const sealed = steps.map((step) => this.#closed(step));
    return this.#tables.take(sealed, nowMs).map((answer, at) => {
      const step = sealed[at];
      return step?.kind === "claim" && answer?.kind === "kept" ? this.#open(answer, step.call) : answer;
    });
  }

  sweep(nowMs: number): number {
    return this.#tables.sweep(nowMs);
  }

  #closed(step: LedgerStep): LedgerStep {
    if (!("call" in step)) return step;
    const { digest, tenant, asked, mayRepeat } = step.call;
    const call = { digest: this.#keyed(digest), tenant: this.#keyed(tenant), asked: this.#keyed(asked), mayRepeat };
    if (step.kind !== "settle" || step.result === null) return { ...step, call };
    return { ...step, call, result: this.#seal.close(step.result, aboutOf(call)) };
  }

  #open(answer: Extract<LedgerAnswer, { readonly kind: "kept" }>, call: KeyedCall): LedgerAnswer | StoreError {
    try {
      return { kind: "kept", result: this.#seal.open(answer.result, aboutOf(call)) };
    } catch (error) {
      if (!(error instanceof SealError)) throw error;
      return new StoreError("the result of this key was changed in its file by another program: use another key");
    }
  }

  #keyed(digest: Uint8Array): Uint8Array {
    return Buffer.from(this.#seal.digest(`keyed ${Buffer.from(digest).toString("hex")}`), "base64url");
  }
}

function aboutOf({ digest, asked }: KeyedCall): string {
  return `glovebox calls:keyed:${JSON.stringify([digest, asked].map((one) => Buffer.from(one).toString("hex")))}`;
}
