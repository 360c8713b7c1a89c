import { setTimeout as delay } from "node:timers/promises";
import { defineCapability, type Engine, type ExecuteOptions, type ToolResult } from "../../src/glovebox/index.ts";
import type { Dice } from "../load/dice.ts";
import { createFleetEngine } from "./fleet.ts";
import { STEADY_KINDS, type SteadyCall, type SteadyKind } from "./steady-calls.ts";

const IN_FLIGHT = 16;
const SLOWEST_HANDLER_MS = 20;
/** Longer than whatever a run takes to mend: no call may end by them. */
const LIMITS = { wallMs: 60_000, queueMs: 60_000, cpuMs: 10_000 };
/** A call that has not ended by then never will. */
const PATIENCE_MS = 100_000;
const SLOTS_MS = 120_000;
const VIOLATIONS_MAX = 20;

/** What came of a load: data that can be printed. */
export interface SteadyReport {
  readonly calls: number;
  /** By kind and end. */
  readonly ends: Readonly<Record<string, number>>;
  /** How many calls were started so many times. */
  readonly attempts: Readonly<Record<string, number>>;
  readonly effects: number;
  readonly longestMs: number;
  readonly violations: readonly string[];
}

export interface SteadyOptions {
  readonly url: string;
  readonly fleet: string;
  readonly dice: Dice;
  readonly lostMs?: number;
  /** Whether letters are lost: then lines may be missing that are told as they are written. What comes of calls is whole all the same. */
  readonly isLossy?: boolean;
}

/** Calls of many kinds through one server of a fleet for as long as is wished, and all that is wrong with what comes of them. */
export class SteadyLoad implements AsyncDisposable {
  readonly engine: Engine;
  readonly #dice: Dice;
  readonly #isLossy: boolean;
  readonly #ledger: EffectLedger;
  readonly #callers: readonly Promise<void>[];
  readonly #open = new Map<number, string>();
  readonly #told = new Map<string, number>();
  readonly #ends: Record<string, number> = {};
  readonly #attempts: Record<string, number> = {};
  readonly #violations: string[] = [];
  #lastId = 0;
  #longestMs = 0;
  #isOver = false;

  private constructor(engine: Engine, ledger: EffectLedger, dice: Dice, isLossy: boolean) {
    this.engine = engine;
    this.#isLossy = isLossy;
    this.#ledger = ledger;
    this.#dice = dice;
    const note = ({ callId }: { readonly callId: string }) =>
      void this.#told.set(callId, (this.#told.get(callId) ?? 0) + 1);
    engine.on("tool:post", note).on("tool:error", note);
    this.#callers = Array.from({ length: IN_FLIGHT }, () => this.#callAgainAndAgain());
  }

  static async start({ url, fleet, dice, lostMs, isLossy = false }: SteadyOptions): Promise<SteadyLoad> {
    const ledger = new EffectLedger(dice.fork());
    const engine = await createFleetEngine({
      executor: { kind: "queue", url, fleet, ...(lostMs === undefined ? {} : { lostMs }) },
      capabilities: [defineCapability(ledger.capability())],
      policy: { rules: [{ tools: ["*"], allow: { ledger: true } }] },
      limits: LIMITS,
      tools: STEADY_KINDS.map(({ tool }) => tool),
    });
    return new SteadyLoad(engine, ledger, dice, isLossy);
  }

  get ended(): number {
    return this.#lastId - this.#open.size;
  }

  /** Calls that have been started more than once. */
  get startedAgain(): number {
    return Object.entries(this.#attempts).reduce((sum, [times, count]) => sum + (Number(times) > 1 ? count : 0), 0);
  }

  /**
   * Calls that the engine still counts. A call that was cancelled has its slot until its machine has said what it used;
   * where that was lost, for some seconds.
   */
  async #counted(): Promise<{ readonly queued: number; readonly running: number }> {
    for (let waitedMs = 0; waitedMs < SLOTS_MS; waitedMs += 100) {
      const { queued, running } = this.engine.stats();
      if (queued + running === 0) break;
      await delay(100);
    }
    return this.engine.stats();
  }

  /** Begins no more calls, waits for those that there are, and says what came of all. */
  async end(): Promise<SteadyReport> {
    this.#isOver = true;
    await Promise.race([Promise.all(this.#callers), delay(PATIENCE_MS, undefined, { ref: false })]);
    for (const [id, name] of this.#open) this.#complain(`call ${id} of "${name}" was never answered`);
    const { queued, running } = await this.#counted();
    if (queued + running > 0) this.#complain(`the engine still counts ${queued} waiting and ${running} running calls`);
    for (const text of this.#ledger.wrong()) this.#complain(text);
    return {
      calls: this.#lastId,
      ends: this.#ends,
      attempts: this.#attempts,
      effects: this.#ledger.size,
      longestMs: Math.round(this.#longestMs),
      violations: this.#violations,
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    await this.engine.close({ drainMs: 0 });
  }

  async #callAgainAndAgain(): Promise<void> {
    while (!this.#isOver) await this.#once();
  }

  async #once(): Promise<void> {
    const kind: SteadyKind = this.#dice.pickWeighted(STEADY_KINDS);
    const id = ++this.#lastId;
    const call = kind.draw(this.#dice, id);
    const { name } = kind.tool;
    this.#open.set(id, name);
    const [sinceMs, progress, lines] = [performance.now(), [] as number[], [] as string[]];
    const options: ExecuteOptions = {
      ...(call.abortMs === undefined ? {} : { signal: AbortSignal.timeout(call.abortMs) }),
      ...(call.isKeyed === true ? { idempotencyKey: `key ${id}` } : {}),
      ...(call.lines === 0
        ? {}
        : {
            onLog: ({ message }) => void lines.push(message),
            onProgress: (told) => void progress.push(told.progress),
          }),
    };
    const ids = call.isKeyed === true ? [`${id}a`, `${id}b`] : [`${id}`];
    const results = await Promise.all(
      ids.map((callId) => this.engine.execute({ id: callId, name, arguments: { ...call.args } }, options)),
    );
    this.#longestMs = Math.max(this.#longestMs, performance.now() - sinceMs);
    this.#open.delete(id);
    for (const result of results) this.#check(id, name, call, result);
    const told = ids.reduce((sum, callId) => sum + (this.#told.get(callId) ?? 0), 0);
    if (told !== 1) this.#complain(`call ${id} of "${name}" was said to have ended ${told} times`);
    if (progress.some((value, at) => value < (progress[at - 1] ?? 0))) {
      this.#complain(`call ${id} of "${name}" told of ${progress.join(", ")}`);
    }
    if (lines.length > call.lines || (lines.length < call.lines && !this.#isLossy))
      this.#complain(`call ${id} of "${name}" wrote ${lines.length} lines as it went`);
  }

  #check(id: number, name: string, call: SteadyCall, { output, error, metadata }: ToolResult): void {
    const end = error?.code ?? "ok";
    this.#ends[`${name} ${end}`] = (this.#ends[`${name} ${end}`] ?? 0) + 1;
    this.#attempts[metadata.attempts] = (this.#attempts[metadata.attempts] ?? 0) + 1;
    const blame = (what: string) =>
      this.#complain(`call ${id} of "${name}" ${what} (starts ${metadata.attempts}, ${metadata.wallMs} ms)`);
    const effects = this.#ledger.of(id);
    if (end === "cancelled" && call.abortMs !== undefined) return;
    if (end !== call.end) blame(`ended with ${end}: ${error?.message ?? ""}`);
    else if (JSON.stringify(output) !== JSON.stringify(call.output)) blame(`answered ${JSON.stringify(output)}`);
    else if (metadata.logs.length !== call.lines) blame(`has ${metadata.logs.length} lines in its log`);
    else if (effects !== call.effects) blame(`had ${effects} effects instead of ${call.effects}`);
  }

  #complain(text: string): void {
    if (this.#violations.length < VIOLATIONS_MAX) this.#violations.push(text);
  }
}

/** What calls did to the world, by call and step. */
class EffectLedger {
  readonly #dice: Dice;
  readonly #times = new Map<string, number>();
  readonly #steps = new Map<number, number>();
  size = 0;

  constructor(dice: Dice) {
    this.#dice = dice;
  }

  capability(): Parameters<typeof defineCapability>[0] {
    const add = async ({ id, step }: { readonly id: number; readonly step: number }): Promise<number> => {
      this.size++;
      const key = `${id} ${step}`;
      this.#times.set(key, (this.#times.get(key) ?? 0) + 1);
      this.#steps.set(id, (this.#steps.get(id) ?? 0) + 1);
      const ms = this.#dice.between(0, SLOWEST_HANDLER_MS);
      if (ms > 0) await delay(ms);
      return step;
    };
    return { name: "ledger", methods: { add: { handler: add } } };
  }

  of(id: number): number {
    return this.#steps.get(id) ?? 0;
  }

  /** Effects that came more than once. */
  wrong(): readonly string[] {
    return [...this.#times].filter(([, times]) => times > 1).map(([key, times]) => `effect ${key} came ${times} times`);
  }
}
