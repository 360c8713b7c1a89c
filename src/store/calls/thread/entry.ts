import { type MessagePort, parentPort, workerData } from "node:worker_threads";
import { parseWithDigits } from "../../../base/exact-json.ts";
import { DetailText } from "../call-redaction.ts";
import type { CallDetail, CallRow, DetailTexts } from "../call-record.ts";
import type { CallReader } from "../call-tables.ts";
import { comparableOf, type Difference, differencesOf } from "../differences.ts";
import { CallFile, FileProblem } from "./call-file.ts";
import { LedgerLine } from "./ledger-line.ts";
import type { CallComparison, FromStore, StoreAnswer, StoreProblem, StoreSettings, ToStore } from "./messages.ts";

/** Pauses after failures, in milliseconds: a file that another process has locked is soon free. */
const PAUSE_LEAST_MS = 20;
const PAUSE_MOST_MS = 10_000;
const LOCKED_MOST_MS = 250;
/** How long a list waits for calls that came before it. */
const LIST_WAITS_MS = 20;
const SWEEP_EVERY_MS = 30_000;
/** Pause after a sweep that left old calls. */
const SWEEP_ON_MS = 50;

/** Writes batches of calls in their order, one in a turn of the event loop, and answers lists between them. */
class StoreThread {
  readonly #port: MessagePort;
  readonly #file: CallFile;
  readonly #ledger: LedgerLine;
  readonly #details = new DetailText();
  readonly #batches: (readonly CallRow[])[] = [];
  readonly #reads: (() => void)[] = [];
  #next: NodeJS.Immediate | NodeJS.Timeout | null = null;
  #pauseMs = 0;
  #problem: StoreProblem | null = null;
  #isClosing = false;

  constructor(port: MessagePort, settings: StoreSettings) {
    this.#port = port;
    this.#file = new CallFile(settings, (reason) => this.#tell({ kind: "renewed", reason }));
    this.#ledger = new LedgerLine(this.#file, (answers) => this.#tell({ kind: "steps", answers }));
    this.#sweepLater(SWEEP_ON_MS);
  }

  take(message: ToStore): void {
    switch (message.kind) {
      case "steps":
        return this.#ledger.take(message.steps);
      case "batch":
        this.#batches.push(message.rows);
        return this.#goOn();
      case "list":
        return this.#answer(message.ask, () => this.#file.read((reader) => reader.list(message.query)));
      case "get":
        return this.#answer(message.ask, () => this.#file.read((reader) => reader.get(message.id, message.tenant)));
      case "run":
        return this.#answer(message.ask, () => this.#file.read((reader) => reader.run(message.id, message.tenant)));
      case "judge":
        return this.#answer(message.ask, () => this.#judge(message.seq, message.detail, message.asked));
      case "compare":
        return this.#answer(message.ask, () =>
          this.#file.read((reader) => compare(reader, message.ids, message.tenant)),
        );
      case "close":
        return this.#close();
      default:
        message satisfies never;
    }
  }

  #goOn(): void {
    if (this.#next !== null || this.#batches.length === 0) return;
    const go = (): void => {
      this.#next = null;
      this.#writeNext();
      this.#goOn();
    };
    this.#next = this.#pauseMs === 0 ? setImmediate(go) : setTimeout(go, this.#pauseMs);
  }

  /** Writes the oldest batch. It stays while the file cannot be used. */
  #writeNext(): void {
    const [batch] = this.#batches;
    if (batch === undefined) return;
    try {
      this.#write(batch);
      this.#batches.shift();
      this.#pauseMs = 0;
      this.#setProblem(null);
      this.#tell({ kind: "batch", lost: null, bytes: this.#file.bytes });
    } catch (error) {
      const problem = problemOf(error);
      const most = problem.reason === "locked" ? LOCKED_MOST_MS : PAUSE_MOST_MS;
      this.#pauseMs = Math.min(Math.max(PAUSE_LEAST_MS, 2 * this.#pauseMs), most);
      this.#setProblem(problem);
      // The batch is to blame itself, and another one may be written.
      if (!(error instanceof FileProblem)) this.#lose(problem);
    }
  }

  #judge(seq: number, given: DetailTexts, asked: number): readonly Difference[] {
    const kept = this.#file.read((reader) => reader.detail(seq));
    if (kept === null) throw new RangeError("the call has been removed meanwhile");
    const again = parseWithDigits(this.#details.write(given).json) as CallDetail;
    return differencesOf(comparableOf(kept), { ...comparableOf(again), asks: comparableOf(kept, asked).asks });
  }

  #write(batch: readonly CallRow[]): void {
    const rows = batch.map(([cells, detail]) => [cells, detail && this.#details.write(detail)] as const);
    this.#file.write((writer) => writer.add(rows));
  }

  #lose({ reason }: StoreProblem): void {
    this.#batches.shift();
    this.#tell({ kind: "batch", lost: reason, bytes: this.#file.bytes });
  }

  #setProblem(problem: StoreProblem | null): void {
    if (problem?.message === this.#problem?.message) return;
    this.#problem = problem;
    this.#tell({ kind: "problem", problem });
  }

  /** Reads once in a turn of the event loop: steps of the ledger go between. */
  #answer(ask: number, read: () => StoreAnswer): void {
    const go = (): void => {
      this.#readNow(ask, read);
      this.#reads.shift();
      if (this.#reads[0] !== undefined) setImmediate(this.#reads[0]);
    };
    if (this.#reads.push(go) === 1) setImmediate(go);
  }

  /** A list has what had come before it, unless writing that takes long. */
  #readNow(ask: number, read: () => StoreAnswer): void {
    const untilMs = performance.now() + LIST_WAITS_MS;
    while (this.#batches.length > 0 && this.#pauseMs === 0 && performance.now() < untilMs) this.#writeNext();
    try {
      this.#tell({ kind: "answer", ask, value: read() });
    } catch (error) {
      this.#tell({ kind: "failure", ask, message: problemOf(error).message });
    }
  }

  #sweepLater(ms: number): void {
    setTimeout(() => {
      if (this.#isClosing) return;
      let isLeft = false;
      try {
        isLeft = this.#file.sweep(Date.now());
      } catch {
        // The next batch finds what is wrong.
      }
      this.#sweepLater(isLeft ? SWEEP_ON_MS : SWEEP_EVERY_MS);
    }, ms).unref();
  }

  #close(): void {
    this.#isClosing = true;
    this.#pauseMs = 0;
    this.#ledger.end();
    while (this.#batches.length > 0 && this.#pauseMs === 0) this.#writeNext();
    while (this.#batches.length > 0) this.#lose(this.#problem ?? ENDED);
    this.#file.close();
    this.#port.close();
  }

  #tell(message: FromStore): void {
    this.#port.postMessage(message);
  }
}

const ENDED: StoreProblem = { reason: "ended", message: "the store has ended" };

/** `undefined` if one of the calls is not there. */
function compare(
  reader: CallReader,
  ids: readonly [string, string],
  tenant: string | null,
): CallComparison | undefined {
  const [left, right] = ids.map((id) => reader.get(id, tenant));
  if (left === undefined || right === undefined) return undefined;
  const tools = [left.tool, right.tool];
  if (left.detail === null || right.detail === null) return { tools, differences: null };
  return { tools, differences: differencesOf(comparableOf(left.detail), comparableOf(right.detail)) };
}

function problemOf(error: unknown): StoreProblem {
  if (error instanceof FileProblem) return error.problem;
  return { reason: "unusable", message: "the store cannot write or read what it has" };
}

if (parentPort !== null) {
  const thread = new StoreThread(parentPort, workerData as StoreSettings);
  parentPort.on("message", (message: ToStore) => thread.take(message));
}
