import type { SqliteTransaction } from "../../sqlite/store.ts";
import type {
  CallState,
  CallWait,
  ClaimedCall,
  Decision,
  DurableCall,
  KeptCall,
  KeptPast,
  PausedCall,
  RunWait,
} from "./durable-call.ts";

/** A snippet as a store has it. `text`: the engine's own data about it. */
export interface StoredSnippet {
  readonly tenant: string;
  readonly name: string;
  readonly text: string;
}

/** The tenant of the call of a step: `null` for any tenant. */
interface StepOfCall {
  readonly id: string;
  readonly tenant: string | null;
  readonly nowMs: number;
}

/** A step of a call. */
export interface CallPlace {
  readonly id: string;
  readonly step: number;
}

/** An addition of one run to the stored journal of its call. Each has a number; a repetition changes nothing. */
export interface JournalLine {
  /** From 1 in each run. */
  readonly seq: number;
  /** JSON of a `JournalPart`; `null` for none. */
  readonly part: string | null;
  /** Step of an effect that is about to happen; `null` for none. */
  readonly begins: number | null;
}

/** A step that one run of a call takes. It is refused once the call has continued in another run. */
interface StepOfRun {
  readonly id: string;
  readonly leg: number;
  readonly nowMs: number;
}

/** One operation on durable calls, in one transaction, before it is answered. */
export type DurableStep =
  /** Stores a call that pauses. A repetition gets the same answer. */
  | { readonly kind: "pause"; readonly call: PausedCall; readonly nowMs: number }
  /** Stores a call that begins its first run. A repetition gets the same answer. */
  | { readonly kind: "start"; readonly call: PausedCall; readonly holder: string; readonly nowMs: number }
  /** Takes a call that is `ready`, for its next run. */
  | { readonly kind: "claim"; readonly id: string; readonly holder: string; readonly nowMs: number }
  /** A run has ended the call. `result`: JSON of a `ToolResult`. */
  | ({ readonly kind: "end"; readonly result: string; readonly isFailed: boolean } & StepOfRun)
  /** Stores capability calls and responses of a run, and the effects that it begins. */
  | ({ readonly kind: "append"; readonly lines: readonly JournalLine[]; readonly runs: string } & StepOfRun)
  /**
   * A run was cut off with its engine or its executor: the call continues as one whose process was lost. `losses`:
   * number of lost runs that it counts for, as the call itself may have caused the death of its executor.
   */
  | ({ readonly kind: "abandon"; readonly losses: number } & StepOfRun)
  /** A claimed call could not begin its run: it is `ready` again. */
  | ({ readonly kind: "release" } & StepOfRun)
  /** Settles waits by the clock, and names calls that are `ready`, oldest first, fair by tenant. */
  | { readonly kind: "due"; readonly most: number; readonly nowMs: number }
  | ({ readonly kind: "decide"; readonly decisions: readonly MadeDecision[] } & StepOfCall)
  | ({
      readonly kind: "signal";
      readonly name: string;
      /** JSON. */
      readonly payload: string;
      readonly by: string | null;
    } & StepOfCall)
  /** Ends a call that is not running, and the calls that it has made, with `cancelled` and this message. */
  | ({ readonly kind: "cancel"; readonly message: string } & StepOfCall)
  /**
   * Makes the call that undoes the tool calls of an ended one, once: it is ready to run. `after`: the id of the last
   * try, which has ended and is followed by another; `null`: no try follows. `within`: the call that waits for it, at a
   * step. Answers with the last try.
   */
  | ({ readonly kind: "undo"; readonly after: string | null; readonly within?: CallPlace } & StepOfCall)
  /** Stores a snippet in place of one of the same name. `revision`: a unique text. */
  | { readonly kind: "save"; readonly snippet: StoredSnippet; readonly revision: string }
  | { readonly kind: "drop"; readonly tenant: string; readonly name: string; readonly revision: string }
  /** All snippets, unless their revision is the known one. */
  | { readonly kind: "snippets"; readonly known: string | null }
  /** The capability calls of an ended call. `toolCalls`: methods by which tools are called, such as `tools.call`. */
  | { readonly kind: "effects"; readonly id: string; readonly toolCalls: readonly string[] }
  /** Number of calls that wait for people, and the longest wait. */
  | { readonly kind: "standing"; readonly nowMs: number }
  /** A heartbeat of a process that runs durable calls. */
  | { readonly kind: "see"; readonly holder: string; readonly nowMs: number }
  /** `isWhole`: with its runs and effects. */
  | { readonly kind: "get"; readonly id: string; readonly tenant: string | null; readonly isWhole?: true }
  | { readonly kind: "list"; readonly query: DurableQuery }
  /** Names the targets of an engine, for which notes are written from now on, and takes notes that are due. */
  | { readonly kind: "notes"; readonly targets: readonly NoteTarget[]; readonly most: number; readonly nowMs: number }
  /** A note was delivered or given up, or is due again. */
  | { readonly kind: "told"; readonly n: number; /** `null`: never. */ readonly dueMs: number | null };

/** Changes of a call's state that are notified: it waits, the outcome of an effect is unknown, it has ended. */
export const NOTE_EVENTS = ["paused", "in_doubt", "ended"] as const satisfies CallState[];
export type NoteEvent = (typeof NOTE_EVENTS)[number];

/** A target of notifications. */
export interface NoteTarget {
  readonly id: string;
  readonly events: readonly NoteEvent[];
  /** Maximum number of its notes to take. */
  readonly most: number;
}

/** A note for a target. It is reserved for 30 seconds: then it is due again. */
export interface CallNote {
  readonly n: number;
  readonly target: string;
  readonly event: NoteEvent;
  /** Identifies the note, the same at each try. */
  readonly id: string;
  readonly madeMs: number;
  readonly dueMs: number;
  /** Number of tries, with this one. */
  readonly tries: number;
  /** The call as it is now, without its result; if it is removed, the facts in the note. */
  readonly call: NotedCall;
}

export interface NotedCall extends Pick<DurableCall, "id" | "callId" | "tool" | "tenant" | "state"> {
  readonly expiresAt: string | null;
  readonly waits: readonly CallWait[];
  /** `ok` or the code of its error; `null` before its end. */
  readonly code: string | null;
}

/** A decision with the name of the deciding key. The engine has checked its rights. */
export interface MadeDecision extends Omit<Decision, "arguments" | "data" | "answer"> {
  readonly wait: number;
  readonly by: string | null;
  /** JSON. `data`: also the answer of an effect. */
  readonly arguments: string | null;
  readonly data: string | null;
}

/** A capability call of an ended call: those answered last come first. */
export interface PastAsk {
  readonly step: number;
  readonly capability: string;
  readonly method: string;
  readonly isAnswered: boolean;
  /** JSON of the arguments; of long ones the beginning. Of a tool call: those of the tool, as a JSON string. */
  readonly args: string;
  /** Of a tool call. */
  readonly tool: PastToolCall | null;
}

export interface PastToolCall {
  readonly name: string;
  /** JSON of arguments and output, each written as a JSON string. */
  readonly input: string;
  readonly output: string;
  /** A failed one is listed only if its call was kept. */
  readonly hasFailed: boolean;
  /** The durable id of its call, if that has waited; `null`: the id is not known. */
  readonly keptAs: string | null;
}

/** Durable calls to list, newest first. `null`: all. */
export interface DurableQuery {
  readonly states: readonly CallState[] | null;
  readonly tenant: string | null;
  readonly tool: string | null;
  readonly limit: number;
  /** The `cursor` of the page before. */
  readonly cursor: string | null;
}

/** Cursors of pages. */
export const CURSOR = /^\d{1,15}$/;

export interface DurablePage {
  readonly calls: readonly DurableCall[];
  readonly cursor: string | null;
}

/** A page as the store gives it. */
export interface KeptPage {
  readonly calls: readonly KeptCall[];
  readonly cursor: string | null;
}

/** A call that a step has ended without a run of it, with the data for notifications. */
export interface EndedCall extends Pick<DurableCall, "id" | "callId" | "tool" | "tenant" | "key"> {
  /** JSON, as the engine has made it; empty if it is not available. */
  readonly record: string;
  /** JSON of a `ToolResult`. */
  readonly result: string;
}

/** `ended`: calls that the step has ended without a run of them, by themselves or with their parents. */
export type DurableAnswer = StepAnswer & { readonly ended?: readonly EndedCall[] };

type StepAnswer =
  /** `pause`: stored. Other steps: done. `call`: as it is now, for `decide`, `signal` and `cancel`. */
  | { readonly kind: "done"; readonly call: KeptCall | null }
  /** `pause`: some waits are settled already, so nothing was stored: the run continues with them. */
  | { readonly kind: "settled"; readonly waits: readonly RunWait[] }
  /** The run is not the call's last one, or the call is not in a state for it. */
  | { readonly kind: "lost" }
  /** `pause`, `save`: beyond a limit, in words. */
  | { readonly kind: "full"; readonly bound: string }
  | { readonly kind: "claimed"; readonly call: ClaimedCall }
  | { readonly kind: "effects"; readonly effects: readonly PastAsk[] }
  /** `due`: calls that are ready, the time of the next wait, and calls whose runs were lost, as they are now. */
  | {
      readonly kind: "ready";
      readonly ids: readonly string[];
      readonly wakeMs: number | null;
      readonly lost: readonly KeptCall[];
    }
  | ({ readonly kind: "standing" } & CallStanding)
  | { readonly kind: "snippets"; readonly revision: string; readonly snippets: readonly StoredSnippet[] | null }
  /** `decide`, `signal`, `cancel`: the reason for the refusal, in words, with the call as it is now. */
  | { readonly kind: "conflict"; readonly message: string; readonly call: KeptCall }
  /** No such call, or snippet, of the tenant. */
  | { readonly kind: "missing" }
  /** `past`: if the step requests it. */
  | { readonly kind: "call"; readonly call: KeptCall; readonly past?: KeptPast }
  /** `list`: their results are left out. */
  | { readonly kind: "page"; readonly page: KeptPage }
  /** `notes`: those taken, the time of the next one, and the number of those dropped, as there were too many. */
  | {
      readonly kind: "notes";
      readonly notes: readonly CallNote[];
      readonly dueMs: number | null;
      readonly dropped: number;
    };

/** Numbers of the calls in the store that wait. */
export interface CallStanding {
  readonly paused: number;
  readonly inDoubt: number;
  /** Time for which the oldest approval has been open; `null` if none is. */
  readonly oldestApprovalMs: number | null;
}

/** Steps that a loss of power must not undo: an effect would happen twice, or a decision or signal be lost. */
export const LASTING: ReadonlySet<DurableStep["kind"]> = new Set([
  "pause",
  "start",
  "claim",
  "append",
  "end",
  "decide",
  "signal",
  "cancel",
  "undo",
  "save",
  "drop",
]);
/** Steps that change nothing. */
export const READING: ReadonlySet<DurableStep["kind"]> = new Set(["get", "list", "effects", "snippets", "standing"]);

/** Takes steps one after the other. Rejects with a `StoreError`. */
export type TakeDurable = (step: DurableStep) => Promise<DurableAnswer>;

/** Takes steps in one transaction: on the disk before the answer if one must not be lost; in none if all are reads. */
export function takeTogether<Answer>(
  transaction: SqliteTransaction,
  steps: readonly DurableStep[],
  take: (step: DurableStep) => Answer,
): readonly Answer[] {
  const work = (): readonly Answer[] => steps.map(take);
  if (steps.every(({ kind }) => READING.has(kind))) return work();
  return steps.some(({ kind }) => LASTING.has(kind)) ? transaction.runLasting(work) : transaction.run(work);
}
