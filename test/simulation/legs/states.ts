import type { DatabaseSync } from "node:sqlite";
import type { JournalPart } from "../../../src/kernel/base/protocol/recorded-journal.ts";
import type { CallState, WaitState } from "../../../src/kernel/store/calls/durable/durable-call.ts";
import { type DurableAnswer, type DurableStep, READING } from "../../../src/kernel/store/calls/durable/durable-step.ts";

type Kind = DurableStep["kind"];

/** What may become of a call by which steps; `new`: the store does not have it yet. All else must never be. */
const NEXT: Readonly<Record<CallState | "new", { readonly [State in CallState]?: readonly Kind[] }>> = {
  new: { running: ["start"], paused: ["pause"], ready: ["pause"], ended: ["pause"] },
  running: {
    paused: ["pause"],
    ready: ["pause", "release", "abandon", "due"],
    in_doubt: ["abandon", "due"],
    ended: ["end", "pause", "abandon", "due"],
  },
  // A person who comes too late finds that it has ended; a run may end while its pause is stored.
  paused: { ready: ["decide", "signal", "due"], ended: ["end", "cancel", "due", "decide", "signal"] },
  ready: { running: ["claim"], ended: ["end", "cancel"] },
  in_doubt: { ready: ["decide"], ended: ["cancel", "due", "decide", "signal"] },
  ended: {},
};

interface StateRow {
  readonly id: string;
  readonly parent: string | null;
  readonly state: CallState;
  readonly leg: number;
  readonly isHeld: number;
  readonly hasResult: number;
  readonly endsMs: number;
  readonly wakes: number;
}

interface WaitRow {
  readonly id: string;
  readonly step: number;
  readonly kind: string;
  readonly state: WaitState;
}

/** What the run of a call has stored since it began. */
interface Run {
  readonly begun: Set<number>;
  readonly answered: Set<number>;
}

type Rows = ReadonlyMap<string, StateRow>;
type Waits = ReadonlyMap<string, WaitRow>;

/** The states of calls as they must follow each other. After each step that a store has taken, it says what must not be. */
export class CallStates {
  readonly #database: DatabaseSync;
  readonly #violate: (text: string) => void;
  readonly #runs = new Map<string, Run>();
  #rows: Rows = new Map();
  #waits: Waits = new Map();

  constructor(database: DatabaseSync, violate: (text: string) => void) {
    this.#database = database;
    this.#violate = violate;
  }

  check(step: DurableStep, answer: DurableAnswer | undefined): void {
    if (READING.has(step.kind) || step.kind === "see") return;
    const [before, waited] = [this.#rows, this.#waits];
    this.#read();
    if (step.kind === "append" && answer?.kind === "done") this.#append(step, before.get(step.id));
    if (step.kind === "end" && answer?.kind === "lost") this.#checkEnd(step, before.get(step.id));
    for (const id of new Set([...before.keys(), ...this.#rows.keys()])) {
      this.#checkCall(step, before.get(id), this.#rows.get(id), before);
    }
    for (const [place, wait] of waited) this.#checkWait(step, wait, this.#waits.get(place));
    if (step.kind === "due" && answer?.kind === "ready") this.#checkDue(step.nowMs, before);
  }

  #read(): void {
    const calls = `SELECT id, parent, state, leg, holder IS NOT NULL AS isHeld, result IS NOT NULL AS hasResult,
      ends_ms AS endsMs, own_wake_ms IS NOT NULL AS wakes FROM durable`;
    const waits = `SELECT id, step, kind, durable_wait.state FROM durable_wait JOIN durable ON n = call`;
    const rows = this.#database.prepare(calls).all() as unknown as readonly StateRow[];
    this.#rows = new Map(rows.map((row) => [row.id, row]));
    const all = this.#database.prepare(waits).all() as unknown as readonly WaitRow[];
    this.#waits = new Map(all.map((wait) => [`${wait.id} ${wait.step} ${wait.kind}`, wait]));
  }

  /** Only the last run of a call may begin an effect. */
  #append({ id, leg, lines }: Extract<DurableStep, { readonly kind: "append" }>, row: StateRow | undefined): void {
    if (row?.state !== "running" || row.leg !== leg)
      this.#violate(`run ${leg} of ${id}, which is ${row?.state} in run ${row?.leg}, has stored more`);
    const run = this.#runs.get(id) ?? { begun: new Set(), answered: new Set() };
    this.#runs.set(id, run);
    for (const { begins, part } of lines) {
      if (begins !== null) run.begun.add(begins);
      if (part === null) continue;
      for (const answer of (JSON.parse(part) as JournalPart).answers) run.answered.add(answer.step);
    }
  }

  /** A run may end while its pause is stored: its end counts until a later run has begun. */
  #checkEnd({ id, leg }: Extract<DurableStep, { readonly kind: "end" }>, row: StateRow | undefined): void {
    if (row?.leg === leg && NEXT[row.state].ended?.includes("end") === true)
      this.#violate(`the end of run ${leg} of ${id}, which is ${row.state}, does not count`);
  }

  #checkCall(step: DurableStep, was: StateRow | undefined, is: StateRow | undefined, before: Rows): void {
    if (is === undefined) {
      if (was !== undefined && was.state !== "ended") this.#violate(`${step.kind} lost ${was.id}`);
      return;
    }
    const { id, state, leg } = is;
    const from = was?.state ?? "new";
    if ((state === "running") !== (is.isHeld === 1))
      this.#violate(`${id} is ${state}, and somebody holds it or nobody`);
    if ((state === "ended") !== (is.hasResult === 1)) this.#violate(`${id} is ${state}, and has a result or none`);
    if (state === "paused" && is.wakes === 0 && !this.#isWaiting(id)) this.#violate(`${id} waits for nothing`);
    if (from === state && was?.leg === leg) return;
    if (!this.#mayBecome(step, from, is, before)) this.#violate(`${step.kind} took ${id} from ${from} to ${state}`);
    const runs = leg - (was?.leg ?? leg);
    if (runs !== (from === "ready" && state === "running" ? 1 : 0))
      this.#violate(`${step.kind} took ${id} from run ${was?.leg} to ${leg}`);
    if (from === "running") this.#checkLost(step, is);
    if (from === "in_doubt" && state === "ready" && this.#isWaiting(id, "outcome"))
      this.#violate(`${id} goes on while an effect is in doubt`);
  }

  /** A step changes its own call; others end with those that have made them, and go on with those that they have made. */
  #mayBecome(step: DurableStep, from: CallState | "new", { id, parent, state }: StateRow, before: Rows): boolean {
    const own = "call" in step ? step.call.id : "id" in step ? step.id : id;
    if (own === id && NEXT[from][state]?.includes(step.kind) === true) return true;
    const endsNow = (one: string): boolean =>
      this.#rows.get(one)?.state === "ended" && before.get(one)?.state !== "ended";
    if (state === "ended") return from !== "ended" && parent !== null && endsNow(parent);
    const hasEnded = [...this.#rows.values()].some((below) => below.parent === id && endsNow(below.id));
    return from === "paused" && state === "ready" && hasEnded;
  }

  /** A lost run is in doubt where an effect was announced and not answered, and goes on where none was. */
  #checkLost({ kind }: DurableStep, { id, state }: StateRow): void {
    const { begun, answered } = this.#runs.get(id) ?? { begun: [], answered: new Set<number>() };
    this.#runs.delete(id);
    if ((kind !== "abandon" && kind !== "due") || state === "ended") return;
    const open = [...begun].filter((step) => !answered.has(step) && !this.#isKept(id, step));
    if ((state === "in_doubt") !== open.length > 0)
      this.#violate(`${id} is ${state}, and ${open.length} of its effects have no answer`);
    for (const step of open)
      if (this.#waits.get(`${id} ${step} outcome`)?.state !== "open")
        this.#violate(`nobody is asked what became of step ${step} of ${id}`);
  }

  /** Whether what it has asked for is a call that is kept. */
  #isKept(id: string, step: number): boolean {
    const wait = this.#waits.get(`${id} ${step} call`);
    return wait !== undefined && wait.state !== "void";
  }

  #isWaiting(id: string, kind?: string): boolean {
    for (const wait of this.#waits.values())
      if (wait.id === id && wait.state === "open" && (kind === undefined || kind === wait.kind)) return true;
    return false;
  }

  /** A wait is settled once: only a run that asks again opens it anew. */
  #checkWait({ kind }: DurableStep, was: WaitRow, is: WaitRow | undefined): void {
    const { id, step, state } = was;
    if (state === "open" || state === is?.state) return;
    if (is === undefined && !this.#rows.has(id)) return;
    const isAnew = is?.state === "open" && (kind === "pause" || kind === "abandon" || kind === "due");
    if (!isAnew) this.#violate(`the wait of ${id} at step ${step} was ${state}, and ${kind} made it ${is?.state}`);
  }

  /** Nobody waits longer than a call is kept. One that begins to wait with this step is looked at by the next. */
  #checkDue(nowMs: number, before: Rows): void {
    for (const { id, state, endsMs } of this.#rows.values()) {
      if (before.get(id)?.state !== state) continue;
      if ((state === "paused" || state === "in_doubt") && endsMs <= nowMs)
        this.#violate(`${id} is ${state}, and has waited for too long`);
    }
  }
}
