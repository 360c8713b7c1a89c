import type { StoreFlags } from "../../../base/errors.ts";
import type {
  CallCells,
  CallPage,
  CallPlace,
  CallQuery,
  CallRow,
  DetailTexts,
  KeptRun,
  StoredCall,
} from "../call-record.ts";
import type { SentStore } from "../../store-factory.ts";
import type { CallRoom } from "../call-tables.ts";
import type { DurableAnswer, DurableStep } from "../durable/durable-step.ts";
import type { Difference } from "../differences.ts";
import type { LedgerAnswer, LedgerCapacity, LedgerStep } from "../ledger.ts";

/** Reasons for which calls are not kept. */
export const DROP_REASONS = ["rate", "busy", "locked", "unreachable", "full", "corrupt", "unusable", "ended"] as const;
export type DropReason = (typeof DROP_REASONS)[number];

/** The reason for which the store cannot write now, without a path. */
export interface StoreProblem {
  readonly reason: DropReason;
  readonly message: string;
}

export interface FileSettings extends CallRoom {
  /** An absolute path, or `:memory:`. */
  readonly path: string;
  /** Secret that seals the calls in the file; without one, they are plain text. */
  readonly secret?: string;
  /** Limits on kept calls with an idempotency key. */
  readonly keys: LedgerCapacity;
}

/** Place of kept calls, and their limits. */
export type StoreSettings = FileSettings | (CallRoom & SentStore);

/** The answer of a step, or its failure. */
export type StepAnswer<Answer> = readonly [
  ask: number,
  answer: Answer | null,
  failure: string | null,
  flags?: StoreFlags,
];

export type ToStore =
  /** Steps of the ledger, which are written before they are answered. */
  | { readonly kind: "steps"; readonly steps: readonly (readonly [ask: number, step: LedgerStep])[] }
  /** Steps of durable calls, which are written before they are answered. */
  | { readonly kind: "durable"; readonly steps: readonly (readonly [ask: number, step: DurableStep])[] }
  | { readonly kind: "batch"; readonly rows: readonly CallRow[] }
  | { readonly kind: "list"; readonly ask: number; readonly query: CallQuery }
  | { readonly kind: "get"; readonly ask: number; readonly id: string; readonly tenant: string | null }
  | { readonly kind: "run"; readonly ask: number; readonly id: string; readonly tenant: string | null }
  /** Compares a kept call with the detail of another run of it, which has made so many capability calls. */
  | {
      readonly kind: "judge";
      readonly ask: number;
      readonly place: CallPlace;
      readonly detail: DetailTexts;
      readonly asked: number;
    }
  | {
      readonly kind: "compare";
      readonly ask: number;
      readonly ids: readonly [left: string, right: string];
      readonly tenant: string | null;
    }
  /** Whether calls of other processes are reported as they are kept. */
  | { readonly kind: "watch"; readonly isWatched: boolean }
  /** Writes waiting calls, once, and ends. */
  | { readonly kind: "close" };

/** Differences of two calls, with the names of their tools. */
export interface CallComparison {
  readonly tools: readonly string[];
  /** `null` if the values of one of them were not kept. */
  readonly differences: readonly Difference[] | null;
}

export type StoreAnswer = CallPage | StoredCall | KeptRun | CallComparison | readonly Difference[] | undefined;

export type FromStore =
  | { readonly kind: "steps"; readonly answers: readonly StepAnswer<LedgerAnswer>[] }
  | { readonly kind: "durable"; readonly answers: readonly StepAnswer<DurableAnswer>[] }
  /** The oldest batch that was not answered is written, or lost. */
  | { readonly kind: "batch"; readonly lost: DropReason | null; readonly bytes: number }
  | { readonly kind: "answer"; readonly ask: number; readonly value: StoreAnswer }
  | { readonly kind: "failure"; readonly ask: number; readonly message: string }
  /** Calls that other processes have kept. */
  | { readonly kind: "heard"; readonly calls: readonly CallCells[] }
  | { readonly kind: "problem"; readonly problem: StoreProblem | null }
  /** The file was damaged or missing, and a new one was created. */
  | { readonly kind: "renewed"; readonly reason: "corrupt" | "gone" };
