import { type MessagePort, parentPort, workerData } from "node:worker_threads";
import { within } from "../../../base/deadline.ts";
import { StoreError, type StoreFlags } from "../../../base/errors.ts";
import { parseWithDigits } from "../../../base/exact-json.ts";
import type { StoredRow } from "../call-lines.ts";
import { DetailText } from "../call-redaction.ts";
import type { CallDetail, CallPlace, CallRow, DetailTexts } from "../call-record.ts";
import { comparableOf, type Difference, differencesOf } from "../differences.ts";
import { type CallBackend, type OpenCalls, StoreFailure } from "./call-backend.ts";
import type { DurableAnswer, DurableStep } from "../durable/durable-step.ts";
import type { ClaimResult, LedgerStep } from "../ledger.ts";
import type {
  CallComparison,
  FromStore,
  StepAnswer,
  StoreAnswer,
  StoreProblem,
  StoreSettings,
  ToStore,
} from "./messages.ts";
import type { StepLine } from "./step-line.ts";

/** Pauses after failures, in milliseconds: the lock of another process on a file is short. */
const PAUSE_LEAST_MS = 20;
const PAUSE_MOST_MS = 10_000;
const PASSING_MOST_MS = 250;
const SWEEP_EVERY_MS = 30_000;
/** Pause after a sweep that left old calls. */
const SWEEP_ON_MS = 50;

interface Batch {
  readonly given: readonly CallRow[];
  /** Rows as they are stored, once the batch was to be written. */
  rows: readonly StoredRow[] | null;
}

interface Opened {
  readonly calls: CallBackend;
  /** Steps that only a file takes. */
  readonly steps: FileSteps | null;
}

interface FileSteps {
  readonly ledger: StepLine<LedgerStep, ClaimResult>;
  readonly durable: StepLine<DurableStep, DurableAnswer>;
}

const ELSEWHERE = "calls cannot wait where calls.url keeps them: set calls.path instead";

/** Writes batches of calls in their order, one in a turn of the event loop, and answers lists between them. */
class StoreThread {
  readonly #port: MessagePort;
  readonly #calls: CallBackend;
  readonly #steps: FileSteps | null;
  readonly #details = new DetailText();
  readonly #batches: Batch[] = [];
  readonly #reads: (() => void)[] = [];
  /** Steps of waiting calls, in a store that is not a file. */
  readonly #taking = new Set<Promise<void>>();
  #next: NodeJS.Immediate | NodeJS.Timeout | null = null;
  #writing: Promise<void> | null = null;
  #pauseMs = 0;
  #problem: StoreProblem | null = null;
  #isClosing = false;

  constructor(port: MessagePort, { calls, steps }: Opened) {
    this.#port = port;
    this.#calls = calls;
    this.#steps = steps;
    this.#sweepLater(SWEEP_ON_MS);
  }

  take(message: ToStore): void {
    switch (message.kind) {
      case "steps":
        return this.#steps?.ledger.take(message.steps);
      case "durable":
        if (this.#steps !== null) return this.#steps.durable.take(message.steps);
        for (const [ask, step] of message.steps) void this.#takeDurable(ask, step);
        return;
      case "batch":
        this.#batches.push({ given: message.rows, rows: null });
        return this.#goOn();
      case "list":
        return this.#answer(message.ask, () => this.#calls.list(message.query));
      case "get":
        return this.#answer(message.ask, () => this.#calls.get(message.id, message.tenant));
      case "run":
        return this.#answer(message.ask, () => this.#calls.run(message.id, message.tenant));
      case "judge":
        return this.#answer(message.ask, () => this.#judge(message.place, message.detail, message.asked));
      case "compare":
        return this.#answer(message.ask, () => this.#compare(message.ids, message.tenant));
      case "watch":
        return this.#calls.watch(message.isWatched ? (calls) => this.#tell({ kind: "heard", calls }) : null);
      case "close":
        return void this.#close();
      default:
        message satisfies never;
    }
  }

  #goOn(): void {
    if (this.#next !== null || this.#batches.length === 0 || this.#isClosing) return;
    const go = (): void => {
      this.#next = null;
      void this.#writeNext().then(() => this.#goOn());
    };
    this.#next = this.#pauseMs === 0 ? setImmediate(go) : setTimeout(go, this.#pauseMs);
  }

  /** Writes the oldest batch, or waits for its end. */
  #writeNext(): Promise<void> {
    return (this.#writing ??= this.#writeOldest().finally(() => {
      this.#writing = null;
    }));
  }

  /** The batch stays as long as the store cannot be used. */
  async #writeOldest(): Promise<void> {
    const [batch] = this.#batches;
    if (batch === undefined) return;
    try {
      batch.rows ??= batch.given.map(([cells, detail]) => [cells, detail && this.#details.write(detail)]);
      await this.#calls.add(batch.rows);
      this.#batches.shift();
      this.#pauseMs = 0;
      this.#setProblem(null);
      this.#tell({ kind: "batch", lost: null, bytes: this.#calls.bytes });
    } catch (error) {
      const problem = problemOf(error);
      const isPassing = problem.reason === "locked" || problem.reason === "unreachable";
      const most = isPassing ? PASSING_MOST_MS : PAUSE_MOST_MS;
      this.#pauseMs = Math.min(Math.max(PAUSE_LEAST_MS, 2 * this.#pauseMs), most);
      this.#setProblem(problem);
      // The batch itself is the cause, and another one may be written.
      if (!(error instanceof StoreFailure)) this.#lose(problem);
    }
  }

  /** Takes a step in a store that is not a file. */
  async #takeDurable(ask: number, step: DurableStep): Promise<void> {
    const answered = this.#calls.takeDurable?.(step).then(
      (answer): StepAnswer<DurableAnswer> => [ask, answer, null],
      (error: unknown) => failureOf(ask, error),
    );
    const taken = (answered ?? Promise.resolve(failureOf(ask, new StoreError(ELSEWHERE)))).then((answer) =>
      this.#tell({ kind: "durable", answers: [answer] }),
    );
    this.#taking.add(taken);
    await taken;
    this.#taking.delete(taken);
  }

  async #judge(place: CallPlace, given: DetailTexts, asked: number): Promise<readonly Difference[]> {
    const kept = await this.#calls.detail(place);
    if (kept === null) throw new RangeError("the call has been removed meanwhile");
    const again = parseWithDigits(this.#details.write(given).json) as CallDetail;
    return differencesOf(comparableOf(kept), { ...comparableOf(again), asks: comparableOf(kept, asked).asks });
  }

  /** `undefined` if one of the calls does not exist. */
  async #compare(ids: readonly [string, string], tenant: string | null): Promise<CallComparison | undefined> {
    const [left, right] = await Promise.all(ids.map((id) => this.#calls.get(id, tenant)));
    if (left === undefined || right === undefined) return undefined;
    const tools = [left.tool, right.tool];
    if (left.detail === null || right.detail === null) return { tools, differences: null };
    return { tools, differences: differencesOf(comparableOf(left.detail), comparableOf(right.detail)) };
  }

  #lose({ reason }: StoreProblem): void {
    this.#batches.shift();
    this.#tell({ kind: "batch", lost: reason, bytes: this.#calls.bytes });
  }

  #setProblem(problem: StoreProblem | null): void {
    if (problem?.message === this.#problem?.message) return;
    this.#problem = problem;
    this.#tell({ kind: "problem", problem });
  }

  /** Begins one read in a turn of the event loop, with steps of the ledger between them. */
  #answer(ask: number, read: () => Promise<StoreAnswer>): void {
    const next = (): void => {
      this.#reads.shift()?.();
      if (this.#reads.length > 0) setImmediate(next);
    };
    if (this.#reads.push(() => void this.#read(ask, read)) === 1) setImmediate(next);
  }

  /** A list includes all calls before it, unless writing them takes long. */
  async #read(ask: number, read: () => Promise<StoreAnswer>): Promise<void> {
    const { patienceMs } = this.#calls;
    const untilMs = performance.now() + patienceMs;
    for (let leftMs = patienceMs; leftMs > 0; leftMs = untilMs - performance.now()) {
      if (this.#batches.length === 0 || this.#pauseMs > 0) break;
      await within(leftMs, this.#writeNext());
    }
    try {
      this.#tell({ kind: "answer", ask, value: await read() });
    } catch (error) {
      this.#tell({ kind: "failure", ask, message: problemOf(error).message });
    }
  }

  #sweepLater(ms: number): void {
    const sweep = async (): Promise<void> => {
      if (this.#isClosing) return;
      let isLeft = false;
      try {
        isLeft = await this.#calls.sweep(Date.now());
      } catch {
        // The next batch reports the problem.
      }
      this.#sweepLater(isLeft ? SWEEP_ON_MS : SWEEP_EVERY_MS);
    };
    setTimeout(() => void sweep(), ms).unref();
  }

  async #close(): Promise<void> {
    this.#isClosing = true;
    this.#pauseMs = 0;
    this.#steps?.ledger.end();
    this.#steps?.durable.end();
    while (this.#batches.length > 0 && this.#pauseMs === 0) await this.#writeNext();
    while (this.#batches.length > 0) this.#lose(this.#problem ?? ENDED);
    await Promise.all(this.#taking);
    await this.#calls.close();
    this.#port.close();
  }

  #tell(message: FromStore): void {
    this.#port.postMessage(message);
  }
}

const ENDED: StoreProblem = { reason: "ended", message: "the store has ended" };

function problemOf(error: unknown): StoreProblem {
  if (error instanceof StoreFailure) return error.problem;
  return { reason: "unusable", message: "the store cannot write or read what it has" };
}

function flagsOf({ isUnanswered, isDamaged }: StoreError): StoreFlags {
  return { isUnanswered, isDamaged };
}

function failureOf(ask: number, error: unknown): StepAnswer<DurableAnswer> {
  if (error instanceof StoreError) return [ask, null, error.message, flagsOf(error)];
  return [ask, null, problemOf(error).message];
}

/** Loads only the modules of the chosen store. */
async function open(settings: StoreSettings, tell: (message: FromStore) => void): Promise<Opened> {
  if ("module" in settings) {
    const { open: openCalls } = (await import(settings.module)) as { readonly open: OpenCalls };
    return { calls: await openCalls(settings.own, settings), steps: null };
  }
  const { FileCalls } = await import("./file-calls.ts");
  const { StepLine } = await import("./step-line.ts");
  const calls = await FileCalls.open(settings, (reason) => tell({ kind: "renewed", reason }));
  const { file } = calls;
  return {
    calls,
    steps: {
      ledger: new StepLine(
        (steps: readonly LedgerStep[]) => file.keys((tables) => tables.take(steps, Date.now())),
        (answers) => tell({ kind: "steps", answers }),
      ),
      durable: new StepLine(
        (steps: readonly DurableStep[]) => file.durable((tables) => tables.take(steps)),
        (answers) => tell({ kind: "durable", answers }),
      ),
    },
  };
}

if (parentPort !== null) {
  const port = parentPort;
  const opening = open(workerData as StoreSettings, (message) => port.postMessage(message));
  const thread = opening.then((opened) => new StoreThread(port, opened));
  port.on("message", (message: ToStore) => void thread.then((one) => one.take(message)));
}
