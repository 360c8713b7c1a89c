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

/** A snippet as a store has it. `text`: what the engine knows of it. */
export interface StoredSnippet {
  readonly tenant: string;
  readonly name: string;
  readonly text: string;
}

/** Whose call a step is about: `null` for any tenant's. */
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

/** What one run adds to the stored journal of its call. Each has a number; the same again changes nothing. */
export interface JournalLine {
  /** From 1 in each run. */
  readonly seq: number;
  /** JSON of a `JournalPart`; `null` for none. */
  readonly part: string | null;
  /** Step of an effect that is about to happen; `null` for none. */
  readonly begins: number | null;
}

/** A step that one run of a call takes. It is refused once the call has gone on to another run. */
interface StepOfRun {
  readonly id: string;
  readonly leg: number;
  readonly nowMs: number;
}

/** One thing that is done with durable calls, in one transaction, before it is answered. */
export type DurableStep =
  /** Stores a call that pauses. The same again is answered as it was. */
  | { readonly kind: "pause"; readonly call: PausedCall; readonly nowMs: number }
  /** Stores a call that begins its first run. The same again is answered as it was. */
  | { readonly kind: "start"; readonly call: PausedCall; readonly holder: string; readonly nowMs: number }
  /** Takes a call that is `ready`, for its next run. */
  | { readonly kind: "claim"; readonly id: string; readonly holder: string; readonly nowMs: number }
  /** A run has ended the call. `result`: JSON of a `ToolResult`. */
  | ({ readonly kind: "end"; readonly result: string; readonly isFailed: boolean } & StepOfRun)
  /** Stores what a run has asked and heard, and which effects it begins. */
  | ({ readonly kind: "append"; readonly lines: readonly JournalLine[]; readonly runs: string } & StepOfRun)
  /**
   * A run was cut off with its engine or its executor: the call goes on as one whose process was lost. `losses`: the number
   * of lost runs for which that counts, as the death of an executor may be the call's own doing.
   */
  | ({ readonly kind: "abandon"; readonly losses: number } & StepOfRun)
  /** A claimed call could not begin its run: it is `ready` again. */
  | ({ readonly kind: "release" } & StepOfRun)
  /** Settles what the clock settles, and names calls that are `ready`, oldest first, fair by tenant. */
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
   * Makes the call that undoes the tool calls of one that has ended, once: it is ready to run. `after`: the id of the last
   * try, which has ended and is followed by another; `null`: it is followed by none. `within`: the call that waits for it, at
   * a step. Answers with the last try.
   */
  | ({ readonly kind: "undo"; readonly after: string | null; readonly within?: CallPlace } & StepOfCall)
  /** Stores a snippet in the place of one of the same name. `revision`: a text of its own. */
  | { readonly kind: "save"; readonly snippet: StoredSnippet; readonly revision: string }
  | { readonly kind: "drop"; readonly tenant: string; readonly name: string; readonly revision: string }
  /** All snippets, unless their revision is the known one. */
  | { readonly kind: "snippets"; readonly known: string | null }
  /** What a call that has ended had asked for. `toolCalls`: methods by which tools are called, as `tools.call`. */
  | { readonly kind: "effects"; readonly id: string; readonly toolCalls: readonly string[] }
  /** How many calls wait for people, and for how long. */
  | { readonly kind: "standing"; readonly nowMs: number }
  /** A heartbeat of a process that runs durable calls. */
  | { readonly kind: "see"; readonly holder: string; readonly nowMs: number }
  /** `isWhole`: with what it has done. */
  | { readonly kind: "get"; readonly id: string; readonly tenant: string | null; readonly isWhole?: true }
  | { readonly kind: "list"; readonly query: DurableQuery }
  /** Names the targets of an engine, of whose events notes are written from now on, and takes notes that are due. */
  | { readonly kind: "notes"; readonly targets: readonly NoteTarget[]; readonly most: number; readonly nowMs: number }
  /** A note was delivered or given up, or is due again. */
  | { readonly kind: "told"; readonly n: number; /** `null`: never. */ readonly dueMs: number | null };

/** Changes of a call's state of which others are told: it waits, nobody knows what became of an effect, it has ended. */
export const NOTE_EVENTS = ["paused", "in_doubt", "ended"] as const satisfies CallState[];
export type NoteEvent = (typeof NOTE_EVENTS)[number];

/** One who is told. */
export interface NoteTarget {
  readonly id: string;
  readonly events: readonly NoteEvent[];
  /** Maximum number of its notes to take. */
  readonly most: number;
}

/** Who has to be told what. It is taken for 30 seconds: then it is due again. */
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
  /** The call as it is now, without its result; of one that is gone, what the note has. */
  readonly call: NotedCall;
}

export interface NotedCall extends Pick<DurableCall, "id" | "callId" | "tool" | "tenant" | "state"> {
  readonly expiresAt: string | null;
  readonly waits: readonly CallWait[];
  /** `ok` or the code of its error; `null` before its end. */
  readonly code: string | null;
}

/** A decision with the name of the key that makes it. The engine has checked who may. */
export interface MadeDecision extends Omit<Decision, "arguments" | "data" | "answer"> {
  readonly wait: number;
  readonly by: string | null;
  /** JSON. `data`: also the answer of an effect. */
  readonly arguments: string | null;
  readonly data: string | null;
}

/** A capability call of a call that has ended: those answered last come first. */
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
  /** One that has failed is listed only where its call was kept. */
  readonly hasFailed: boolean;
  /** The durable id of its call, where that has waited; `null`: nobody knows what it called itself. */
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

/** A call that a step has ended without a run of it, as far as others are told of it. */
export interface EndedCall extends Pick<DurableCall, "id" | "callId" | "tool" | "tenant" | "key"> {
  /** JSON, as the engine has made it; empty where it is not at hand. */
  readonly record: string;
  /** JSON of a `ToolResult`. */
  readonly result: string;
}

/** `ended`: calls that the step has ended without a run of them, by themselves or with their parents. */
export type DurableAnswer = StepAnswer & { readonly ended?: readonly EndedCall[] };

type StepAnswer =
  /** `pause`: stored. Other steps: done. `call`: as it is now, for `decide`, `signal` and `cancel`. */
  | { readonly kind: "done"; readonly call: KeptCall | null }
  /** `pause`: some waits are settled already, so nothing was stored: the run goes on with them. */
  | { readonly kind: "settled"; readonly waits: readonly RunWait[] }
  /** The run is not the call's last one, or the call is not in a state for it. */
  | { readonly kind: "lost" }
  /** `pause`, `save`: beyond a limit, in words. */
  | { readonly kind: "full"; readonly bound: string }
  | { readonly kind: "claimed"; readonly call: ClaimedCall }
  | { readonly kind: "effects"; readonly effects: readonly PastAsk[] }
  /** `due`: calls that are ready, when the next wait is due, and calls whose runs were lost, as they are now. */
  | {
      readonly kind: "ready";
      readonly ids: readonly string[];
      readonly wakeMs: number | null;
      readonly lost: readonly KeptCall[];
    }
  | ({ readonly kind: "standing" } & CallStanding)
  | { readonly kind: "snippets"; readonly revision: string; readonly snippets: readonly StoredSnippet[] | null }
  /** `decide`, `signal`, `cancel`: why it cannot be done, in words, with the call as it is now. */
  | { readonly kind: "conflict"; readonly message: string; readonly call: KeptCall }
  /** No such call, or snippet, of the tenant. */
  | { readonly kind: "missing" }
  /** `past`: where the step asks for it. */
  | { readonly kind: "call"; readonly call: KeptCall; readonly past?: KeptPast }
  /** `list`: their results are left out. */
  | { readonly kind: "page"; readonly page: KeptPage }
  /** `notes`: those taken, when the next one is due, and the number of those dropped as there were too many. */
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
  /** For how long the oldest approval has been open; `null` where none is. */
  readonly oldestApprovalMs: number | null;
}

/** Steps after which a loss of power must not bring back what was before: an effect would happen twice, or a word be lost. */
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

/** Takes steps in one transaction: on the disk before they are answered where one must not be lost, in none where all read. */
export function takeTogether<Answer>(
  transaction: SqliteTransaction,
  steps: readonly DurableStep[],
  take: (step: DurableStep) => Answer,
): readonly Answer[] {
  const work = (): readonly Answer[] => steps.map(take);
  if (steps.every(({ kind }) => READING.has(kind))) return work();
  return steps.some(({ kind }) => LASTING.has(kind)) ? transaction.runLasting(work) : transaction.run(work);
}
