import { Worker } from "node:worker_threads";
import { within } from "../../base/deadline.ts";
import { StoreError } from "../../base/errors.ts";
import type {
  CallCells,
  CallPage,
  CallPlace,
  CallQuery,
  CallRow,
  DetailTexts,
  KeptRun,
  StoredCall,
} from "./call-record.ts";
import type { DurableAnswer, DurableStep } from "./durable/durable-step.ts";
import type { Difference } from "./differences.ts";
import type { LedgerAnswer, LedgerStep } from "./ledger.ts";
import { FileProbe } from "./file-probe.ts";
import type { OutageReport } from "../outage.ts";
import { type OutageListener, outageReport } from "./outage-report.ts";
import { DROP_REASONS, type DropReason, type FromStore, type StoreAnswer } from "./thread/messages.ts";
import type { CallComparison, StepAnswer, StoreProblem, StoreSettings, ToStore } from "./thread/messages.ts";

/** Calls, and UTF-16 units of their values, that wait for the store; later ones are dropped. */
export const WAITING_MAX = 10_000;
export const WAITING_CHARS = 16 * 1024 * 1024;
/** Size of a batch, in calls and UTF-16 units: copying one takes less than a millisecond. */
const BATCH_MAX = 256;
const BATCH_CHARS = 256 * 1024;
/** Time for which calls are gathered. */
const GATHER_MS = 250;
/** Length that a call counts for besides its values. */
const CALL_CHARS = 256;
/** Maximum number of lists that wait, and the maximum wait of one. */
const ASKS_MAX = 64;
const ASK_MS = 10_000;
/** Steps of the ledger that wait at once. */
const STEPS_MAX = 10_000;
const UNANSWERED = { isUnanswered: true };
/** Time to write waiting calls when the engine closes. */
const CLOSE_MS = 2_000;
/** Pause before a thread that ended is started again. */
const RESTART_MS = 1_000;
/** Interval of reports about drops. */
const TELL_MS = 250;
const HEAP_MB = 256;

/** Calls that the store did not keep. */
export interface CallDrop {
  readonly dropped: number;
  /**
   * `busy`: they came faster than they were written. `locked`, `unreachable`, `full`, `corrupt`, `unusable`: the file,
   * or Redis, could not be written for so long that too many waited. `ended`: the store ended before it had written
   * them.
   */
  readonly reason: DropReason;
  /** Time of the first of them, in ISO 8601. */
  readonly since: string;
}

/** State of the store of calls. */
export interface CallStoreStatus {
  /** Calls kept, and not kept by reason, since the engine's creation. `rate`: counted in a later call's `sampled`. */
  readonly kept: number;
  readonly dropped: Readonly<Record<DropReason, number>>;
  /** Size of the file without free space, or of the data of all servers in Redis; 0 before its first use. */
  readonly bytes: number;
  /** The reason for which nothing can be kept now; `null` without a problem. */
  readonly problem: string | null;
}

export interface CallStoreListener extends OutageListener {
  readonly onDrop: (drop: CallDrop) => void;
  readonly onRenewed: (reason: "corrupt" | "gone") => void;
  /** Called if another process has kept a call, and `watch` is on. */
  readonly onHeard: (cells: CallCells) => void;
}

const LOST: DurableAnswer = { kind: "lost" };
const ENDED = "the store's thread has ended: try again in a second";

interface Batch {
  readonly count: number;
  readonly chars: number;
}

interface Ask<Answer> {
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: Error) => void;
}

/**
 * The store of calls, on a thread of its own: no call waits for it. Calls that it cannot write in time are dropped and
 * counted. The thread starts with the first call or list.
 */
export class CallStore {
  readonly settings: StoreSettings;
  readonly #listener: CallStoreListener;
  #worker: Worker | null = null;
  #restartMs = 0;
  #gathered: CallRow[] = [];
  #gatheredChars = 0;
  /** Memory of its rows that is moved with them. */
  #moved: ArrayBuffer[] = [];
  #gathering: NodeJS.Timeout | null = null;
  /** Batches that the thread has not answered, oldest first. */
  readonly #sent: Batch[] = [];
  #waiting = 0;
  #waitingChars = 0;
  readonly #asks = new Map<number, Ask<StoreAnswer>>();
  readonly #steps = new Map<number, Ask<LedgerAnswer>>();
  readonly #durable = new Map<number, Ask<DurableAnswer>>();
  /** Steps of this turn of the event loop. */
  #unsent: (readonly [ask: number, step: LedgerStep])[] = [];
  #unsentDurable: (readonly [ask: number, step: DurableStep])[] = [];
  #lastAsk = 0;
  #kept = 0;
  #bytes = 0;
  readonly #dropped: Record<DropReason, number>;
  #problem: StoreProblem | null = null;
  /** For a file only: the probe of Redis reports its problems. */
  readonly #outage: OutageReport<StoreProblem> | null;
  readonly #probe: FileProbe | null;
  /** Drops that were not reported yet. */
  #untold: CallDrop | null = null;
  #telling: NodeJS.Timeout | undefined;
  #isWatched = false;
  #isClosed = false;

  constructor(settings: StoreSettings, listener: CallStoreListener) {
    this.settings = settings;
    this.#listener = listener;
    this.#outage = "path" in settings ? outageReport(settings.path, listener) : null;
    // A finding of the thread in the meantime is newer.
    const onLook = (now: StoreProblem | null, before: StoreProblem | null): void =>
      this.#problem === before ? this.#setProblem(now) : undefined;
    this.#probe = "path" in settings ? new FileProbe(settings.path, onLook) : null;
    this.#dropped = Object.fromEntries(DROP_REASONS.map((reason) => [reason, 0])) as Record<DropReason, number>;
  }

  /** Keeps a call, or drops it. `chars`: UTF-16 units of its values. */
  keep(row: CallRow, chars: number): void {
    const size = CALL_CHARS + chars;
    if (this.#waiting >= WAITING_MAX || this.#waitingChars + size > WAITING_CHARS || this.#isClosed) {
      return this.#drop(1, this.#isClosed ? "ended" : (this.#problem?.reason ?? "busy"));
    }
    this.#waiting++;
    this.#waitingChars += size;
    this.#gatheredChars += size;
    const told = row[1]?.told ?? null;
    if (told !== null && told.byteLength === told.buffer.byteLength) this.#moved.push(told.buffer);
    if (this.#gathered.push(row) >= BATCH_MAX || this.#gatheredChars >= BATCH_CHARS) return this.#send();
    this.#gathering ??= setTimeout(() => this.#send(), GATHER_MS).unref();
  }

  /** Takes a step of the ledger in the same file. Rejects with a `StoreError`. */
  async takeStep(step: LedgerStep): Promise<LedgerAnswer> {
    if (this.#steps.size >= STEPS_MAX) throw new StoreError("too many calls with a key wait for the store");
    const ask = ++this.#lastAsk;
    if (this.#unsent.push([ask, step]) === 1) process.nextTick(() => this.#sendSteps());
    return this.#answerOf(this.#steps, ask);
  }

  /** Takes a step of durable calls in the same file. Rejects with a `StoreError`. */
  async takeDurable(step: DurableStep): Promise<DurableAnswer> {
    if (this.#durable.size >= STEPS_MAX) throw new StoreError("too many calls that wait are with the store");
    const ask = ++this.#lastAsk;
    if (this.#unsentDurable.push([ask, step]) === 1) process.nextTick(() => this.#sendDurable());
    return this.#answerOf(this.#durable, ask);
  }

  /** Counts a call that is not kept, as a later one counts for it. */
  skip(): void {
    this.#dropped.rate++;
  }

  /** Whether calls of other processes in the same store are reported as well, if the store is notified of them. */
  watch(isWatched: boolean): void {
    this.#isWatched = isWatched;
    if (!("module" in this.settings) || this.#isClosed) return;
    if (this.#worker === null) this.#running();
    else this.#worker.postMessage({ kind: "watch", isWatched } satisfies ToStore);
  }

  /** Rejects with a `StoreError`. */
  list(query: CallQuery): Promise<CallPage> {
    return this.#ask((ask) => ({ kind: "list", ask, query })) as Promise<CallPage>;
  }

  /** Rejects with a `StoreError`. */
  get(id: string, tenant: string | null): Promise<StoredCall | undefined> {
    return this.#ask((ask) => ({ kind: "get", ask, id, tenant })) as Promise<StoredCall | undefined>;
  }

  /** Rejects with a `StoreError`. */
  keptRun(id: string, tenant: string | null): Promise<KeptRun | undefined> {
    return this.#ask((ask) => ({ kind: "run", ask, id, tenant })) as Promise<KeptRun | undefined>;
  }

  /** Rejects with a `StoreError`. */
  judge(place: CallPlace, detail: DetailTexts, asked: number): Promise<readonly Difference[]> {
    return this.#ask((ask) => ({ kind: "judge", ask, place, detail, asked })) as Promise<readonly Difference[]>;
  }

  /** `undefined` if there is no such call. Rejects with a `StoreError`. */
  compare(ids: readonly [string, string], tenant: string | null): Promise<CallComparison | undefined> {
    return this.#ask((ask) => ({ kind: "compare", ask, ids, tenant })) as Promise<CallComparison | undefined>;
  }

  status(): CallStoreStatus {
    return {
      kept: this.#kept,
      dropped: { ...this.#dropped },
      bytes: this.#bytes,
      problem: this.#problem?.message ?? null,
    };
  }

  /** Writes waiting calls, at most for two seconds. */
  async close(): Promise<void> {
    this.#send();
    this.#isClosed = true;
    const worker = this.#worker;
    if (worker !== null) {
      const ended = new Promise<void>((resolve) => worker.once("exit", () => resolve()));
      worker.postMessage({ kind: "close" } satisfies ToStore);
      worker.ref();
      await within(CLOSE_MS, ended);
      this.#end(worker);
      void worker.terminate();
    }
    this.#probe?.close();
    this.#outage?.close();
    this.#tell();
  }

  #send(): void {
    if (this.#gathering !== null) clearTimeout(this.#gathering);
    this.#gathering = null;
    const [rows, chars] = [this.#gathered, this.#gatheredChars];
    if (rows.length === 0) return;
    const worker = this.#running();
    if (worker === null) {
      // The thread has just ended: calls wait until it is started again.
      this.#gathering = setTimeout(() => this.#send(), GATHER_MS).unref();
      return;
    }
    const moved = this.#moved;
    [this.#gathered, this.#gatheredChars, this.#moved] = [[], 0, []];
    this.#sent.push({ count: rows.length, chars });
    worker.postMessage({ kind: "batch", rows } satisfies ToStore, moved);
  }

  async #ask(make: (ask: number) => ToStore): Promise<StoreAnswer> {
    if (this.#isClosed) throw new StoreError("the engine has closed");
    if (this.#asks.size >= ASKS_MAX) throw new StoreError("too many lists of calls wait: try again later");
    // The list includes calls that have ended before.
    this.#send();
    const worker = this.#running();
    if (worker === null) throw new StoreError(ENDED);
    const ask = ++this.#lastAsk;
    worker.postMessage(make(ask));
    return this.#answerOf(this.#asks, ask);
  }

  async #answerOf<Answer>(asks: Map<number, Ask<Answer>>, ask: number): Promise<Answer> {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    asks.set(ask, { resolve, reject });
    const late = setTimeout(() => reject(new StoreError("the store is busy: try again later", UNANSWERED)), ASK_MS);
    if (this.#asking === 1) this.#worker?.ref();
    try {
      return await promise;
    } finally {
      clearTimeout(late);
      asks.delete(ask);
      if (this.#asking === 0) this.#worker?.unref();
    }
  }

  #sendSteps(): void {
    const steps = this.#unsent;
    this.#unsent = [];
    const worker = this.#isClosed ? null : this.#running();
    if (worker !== null) return worker.postMessage({ kind: "steps", steps } satisfies ToStore);
    const error = new StoreError(this.#isClosed ? "the engine has closed" : ENDED);
    for (const [ask] of steps) this.#steps.get(ask)?.reject(error);
  }

  #sendDurable(): void {
    const steps = this.#unsentDurable;
    this.#unsentDurable = [];
    const worker = this.#isClosed ? null : this.#running();
    if (worker !== null) return worker.postMessage({ kind: "durable", steps } satisfies ToStore);
    const error = new StoreError(this.#isClosed ? "the engine has closed" : ENDED);
    for (const [ask] of steps) this.#durable.get(ask)?.reject(error);
  }

  /** Number of requests that wait for the thread. */
  get #asking(): number {
    return this.#asks.size + this.#steps.size + this.#durable.size;
  }

  /** The thread; `null` for a second after it has ended by itself. */
  #running(): Worker | null {
    if (this.#worker !== null || performance.now() < this.#restartMs) return this.#worker;
    const worker = new Worker(
      new URL(`./thread/entry.${import.meta.url.endsWith(".ts") ? "ts" : "js"}`, import.meta.url),
      {
        name: "glovebox-calls",
        workerData: this.settings,
        resourceLimits: { maxOldGenerationSizeMb: HEAP_MB },
        env: {},
      },
    );
    worker.on("message", (message: FromStore) => this.#take(message));
    worker.on("error", () => this.#end(worker));
    worker.on("exit", () => this.#end(worker));
    // An embedder that does not close its engine ends all the same, unless a request waits.
    if (this.#asking === 0) worker.unref();
    if (this.#isWatched) worker.postMessage({ kind: "watch", isWatched: true } satisfies ToStore);
    return (this.#worker = worker);
  }

  #take(message: FromStore): void {
    switch (message.kind) {
      case "steps":
        return settleSteps(this.#steps, message.answers, (answer) => answer);
      case "durable":
        return settleSteps(this.#durable, message.answers, (answer) => answer ?? LOST);
      case "batch":
        this.#bytes = message.bytes;
        if (message.lost === null) this.#setProblem(null);
        return this.#settle(message.lost);
      case "answer":
        return this.#asks.get(message.ask)?.resolve(message.value);
      case "failure":
        return this.#asks.get(message.ask)?.reject(new StoreError(message.message));
      case "heard":
        return message.calls.forEach(this.#listener.onHeard);
      case "problem":
        return this.#setProblem(message.problem);
      case "renewed":
        return this.#listener.onRenewed(message.reason);
      default:
        message satisfies never;
    }
  }

  #setProblem(problem: StoreProblem | null): void {
    if (problem === this.#problem) return;
    this.#problem = problem;
    this.#outage?.set(problem);
  }

  #settle(lost: DropReason | null): void {
    const batch = this.#sent.shift();
    if (batch === undefined) return;
    this.#waiting -= batch.count;
    this.#waitingChars -= batch.chars;
    if (lost === null) this.#kept += batch.count;
    else this.#drop(batch.count, lost);
  }

  #end(worker: Worker): void {
    if (this.#worker !== worker) return;
    this.#worker = null;
    this.#restartMs = performance.now() + RESTART_MS;
    while (this.#sent.length > 0) this.#settle("ended");
    for (const { reject } of [...this.#asks.values(), ...this.#steps.values(), ...this.#durable.values()])
      reject(new StoreError(ENDED, UNANSWERED));
  }

  #drop(count: number, reason: DropReason): void {
    this.#dropped[reason] += count;
    if (this.#untold !== null && this.#untold.reason !== reason) this.#tell();
    const since = this.#untold?.since ?? new Date().toISOString();
    this.#untold = { dropped: (this.#untold?.dropped ?? 0) + count, reason, since };
    this.#telling ??= setTimeout(() => this.#tell(), TELL_MS).unref();
  }

  #tell(): void {
    clearTimeout(this.#telling);
    this.#telling = undefined;
    const drop = this.#untold;
    this.#untold = null;
    if (drop !== null) this.#listener.onDrop(drop);
  }
}

function settleSteps<Given, Answer>(
  asks: ReadonlyMap<number, Ask<Answer>>,
  answers: readonly StepAnswer<Given>[],
  answerOf: (given: Given | null) => Answer,
): void {
  for (const [ask, answer, failure, flags] of answers) {
    const step = asks.get(ask);
    if (failure === null) step?.resolve(answerOf(answer));
    else step?.reject(new StoreError(failure, flags));
  }
}
