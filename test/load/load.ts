import { createHistogram } from "node:perf_hooks";
import type { Engine, ToolResult } from "../../src/glovebox/index.ts";
import type { Dice } from "./dice.ts";
import { type Drawn, type Innocent, INNOCENTS } from "./innocents.ts";
import type { Ledger } from "./ledger.ts";

const TENANTS = ["", "red", "green"];
/** Complaints that are told in full; the rest is counted. */
const COMPLAINTS_MAX = 20;

/** What came of the innocents' calls. Times in milliseconds. */
export interface LoadReport {
  readonly calls: number;
  readonly ends: Readonly<Record<string, number>>;
  /** How many calls were started so many times; `0` are those that were refused. */
  readonly attempts: Readonly<Record<string, number>>;
  readonly latencyMs: { readonly p50: number; readonly p99: number; readonly max: number };
  readonly complaints: number;
  readonly firstComplaints: readonly string[];
  /** What drawing calls and checking results took of the host's thread, and the longest piece of it. */
  readonly generatorMs: { readonly sum: number; readonly longest: number };
}

/** Makes calls of innocent tools and finds fault with what comes of them. */
export class Load {
  readonly #engine: Engine;
  readonly #ledger: Ledger;
  readonly #dice: Dice;
  readonly #slowMs: number;
  readonly #nextId: () => number;
  readonly #open = new Map<number, string>();
  readonly #ends: Record<string, number> = {};
  readonly #attempts: Record<string, number> = {};
  readonly #latencyUs = createHistogram();
  readonly #firstComplaints: string[] = [];
  #complaints = 0;
  #calls = 0;
  #generatorMs = 0;
  #longestMs = 0;
  #effects = 0;

  /** Calls wait for at most `slowMs` where they wait for something. `nextId` numbers all calls of the run. */
  constructor(engine: Engine, ledger: Ledger, dice: Dice, slowMs: number, nextId: () => number) {
    this.#engine = engine;
    this.#ledger = ledger;
    this.#dice = dice;
    this.#slowMs = slowMs;
    this.#nextId = nextId;
  }

  get calls(): number {
    return this.#calls;
  }

  /** Of these, how many have been answered. */
  get ended(): number {
    return this.#calls - this.#open.size;
  }

  /** How often all calls so far had to ask the host to count. */
  get effects(): number {
    return this.#effects;
  }

  /** The calls that nobody has answered yet, as `id tool`. */
  get open(): readonly string[] {
    return [...this.#open].map(([id, tool]) => `${id} ${tool}`);
  }

  /** One call, from the draw of its tool to the check of its result. */
  async once(): Promise<void> {
    const startMs = performance.now();
    const innocent = this.#dice.pickWeighted(INNOCENTS);
    const tenant = this.#dice.pick(TENANTS);
    const drawn = innocent.draw(this.#dice, this.#slowMs);
    const id = this.#nextId();
    const { name } = innocent.tool;
    this.#calls++;
    this.#effects += drawn.effects;
    this.#open.set(id, name);
    const sentMs = performance.now();
    this.#spend(sentMs - startMs);
    const answer = this.#engine.execute({ id: String(id), name, arguments: drawn.args }, { tenant });
    const result = await answer;
    const endMs = performance.now();
    this.#latencyUs.record(Math.max(1, Math.round((endMs - sentMs) * 1e3)));
    this.#open.delete(id);
    this.#check(id, innocent, drawn, result);
    this.#spend(performance.now() - endMs);
  }

  report(): LoadReport {
    const latencyMs = {
      p50: this.#latencyUs.percentile(50) / 1e3,
      p99: this.#latencyUs.percentile(99) / 1e3,
      max: this.#latencyUs.max / 1e3,
    };
    return {
      calls: this.#calls,
      ends: this.#ends,
      attempts: this.#attempts,
      latencyMs,
      complaints: this.#complaints,
      firstComplaints: this.#firstComplaints,
      generatorMs: { sum: this.#generatorMs, longest: this.#longestMs },
    };
  }

  complain(text: string): void {
    this.#complaints++;
    if (this.#firstComplaints.length < COMPLAINTS_MAX) this.#firstComplaints.push(text);
  }

  #check(id: number, { tool }: Innocent, drawn: Drawn, { output, error, metadata }: ToolResult): void {
    const end = error?.code ?? "ok";
    const { attempts, logs } = metadata;
    this.#ends[end] = (this.#ends[end] ?? 0) + 1;
    this.#attempts[attempts] = (this.#attempts[attempts] ?? 0) + 1;
    const blame = (what: string) =>
      this.complain(
        `call ${id} of "${tool.name}": ${what} (attempts ${attempts}, wall ${Math.round(metadata.wallMs)} ms)`,
      );
    if (end !== drawn.end) blame(`ended with ${end}: ${error?.message ?? ""}`);
    else if (JSON.stringify(output) !== JSON.stringify(drawn.output)) blame(`answered ${JSON.stringify(output)}`);
    else if (logs.length !== drawn.logs) blame(`logged ${logs.length} lines instead of ${drawn.logs}`);
    const effects = this.#ledger.effectsOf(id);
    if (effects !== drawn.effects) blame(`had ${effects} effects instead of ${drawn.effects}`);
  }

  #spend(ms: number): void {
    this.#generatorMs += ms;
    this.#longestMs = Math.max(this.#longestMs, ms);
  }
}
