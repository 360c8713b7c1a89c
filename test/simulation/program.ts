import { Timers } from "../../src/kernel/guest/timers.ts";
import { hashOf, mix, Random } from "./random.ts";

/** What a call's program does, by its arguments: all of it follows from them and from what the program sees. */
export interface ProgramArgs {
  readonly seed: number;
  /** Number of capability calls that it makes at most, and those that it has to choose from. */
  readonly asks: number;
  readonly methods: readonly (readonly [capability: string, method: string])[];
  readonly timers: number;
  /** Whether it may end while something is unanswered. */
  readonly leaves: boolean;
  /** Whether it ends at once, and so with others in one turn. */
  readonly isShort: boolean;
  /** Arguments of calls that it makes of other tools, one after the other. */
  readonly children: readonly { readonly name: string; readonly arguments: object }[];
  /** In its so-manieth turn it does this. */
  readonly harm: { readonly turn: number; readonly kind: Harm } | null;
  /** Number of people, signals and times that it waits for. */
  readonly waits?: number;
  /** Whether its call may be stored, and go on in another run. */
  readonly isStored?: boolean;
}

/** `crash`: ends the process; `hang`: the watch has to end it; `spin`: the turn is cut; `memory`: the isolate is full; `throw`: an error. */
export type Harm = "crash" | "hang" | "spin" | "memory" | "throw";

/** The realm of a program. */
export interface ProgramHost {
  /** Returns the step, or 0 where the call has used up what it may ask. */
  ask(capability: string, method: string, args: string, nowMs: number): number;
  arm(dueMs: number, nowMs: number): void;
  log(line: string): void;
  progress(progress: number): void;
  end(outcome: string): void;
  harm(kind: Harm): void;
  work(ms: number): void;
  /** The program was told something that cannot be. */
  violate(text: string): void;
}

/** Output of a program: a hash of all that it has seen, and the number of its capability calls that reached the host. */
export interface ProgramOutput {
  readonly hash: number;
  readonly steps: number;
}

interface Asked {
  readonly ordinal: number;
  readonly key: string;
}

/** Arguments of a capability call. The handler answers with their `key`. */
export interface AskArgs {
  readonly key: string;
  readonly run: number;
  /** How its handler behaves. */
  readonly mood: number;
  /** Whether the call may be stored: all of its runs ask the same. */
  readonly isStored?: true;
  readonly padding?: string;
}

/** The program of one call, as its isolate runs it. */
export class Program {
  readonly #run: number;
  readonly #args: ProgramArgs;
  readonly #host: ProgramHost;
  readonly #timers: Timers;
  readonly #pending = new Map<number, Asked>();
  #hash: number;
  #nowMs: number;
  #asked = 0;
  #steps = 0;
  #set = 0;
  #live = 0;
  #turns = 0;
  #logged = 0;
  #children = 0;
  #waited = 0;
  isEnded = false;

  constructor(run: number, args: ProgramArgs, nowMs: number, host: ProgramHost) {
    this.#run = args.isStored === true ? args.seed : run;
    this.#args = args;
    this.#host = host;
    this.#nowMs = nowMs;
    this.#hash = mix(args.seed, nowMs);
    this.#timers = new Timers(
      () => this.#nowMs,
      (dueMs) => {
        if (!this.isEnded) host.arm(dueMs, this.#nowMs);
      },
    );
  }

  start(): void {
    this.#turn();
    this.#continue();
  }

  /** All answers of a turn are there before anything goes on. */
  settle(asks: readonly number[], payloads: readonly string[], nowMs: number): void {
    this.#enter(nowMs);
    const answered: Asked[] = [];
    for (const [at, signed] of asks.entries()) {
      const asked = this.#pending.get(Math.abs(signed));
      const payload = payloads[at] ?? "";
      if (asked === undefined) {
        this.#host.violate(`run ${this.#run} was answered at step ${signed}, which it did not ask`);
        continue;
      }
      this.#pending.delete(Math.abs(signed));
      this.#hash = mix(hashOf(payload, this.#hash), asked.ordinal);
      if (signed > 0) this.#check(asked, payload);
      answered.push(asked);
    }
    this.#turn();
    for (const { ordinal } of answered) {
      this.#hash = mix(this.#hash, ordinal);
      this.#continue();
    }
  }

  fire(nowMs: number): void {
    this.#enter(nowMs);
    this.#turn();
    this.#timers.fire((error) => this.#host.violate(String(error)));
  }

  cancel(): void {
    this.isEnded = true;
    this.#timers.end();
  }

  #enter(nowMs: number): void {
    this.#nowMs = Math.max(this.#nowMs, nowMs);
    this.#hash = mix(this.#hash, this.#nowMs);
  }

  #turn(): void {
    this.#turns++;
    const { harm } = this.#args;
    if (harm !== null && this.#turns === harm.turn) this.#host.harm(harm.kind);
  }

  #check({ ordinal, key }: Asked, payload: string): void {
    if (key === "") return;
    const value = JSON.parse(payload) as { readonly key?: string; readonly ok?: boolean };
    if (value.ok !== undefined || value.key === key) return;
    this.#host.violate(`run ${this.#run} asked ${key} as number ${ordinal}, and was answered ${payload}`);
  }

  #continue(): void {
    if (this.isEnded) return;
    const { asks, timers, leaves, isShort, children, waits = 0 } = this.#args;
    const random = new Random(this.#hash);
    this.#host.work(random.between(0.01, random.chance(0.05) ? 4 : 0.2));
    if (isShort) return this.#finish();
    if (random.chance(0.4)) this.#host.log(`${this.#logged++}`);
    if (random.chance(0.2)) this.#host.progress(this.#turns);
    if (this.#children < children.length && random.chance(0.5)) this.#askChild();
    for (let more = random.below(4); more > 0 && this.#asked < asks; more--) this.#ask(random);
    if (this.#waited < waits && random.chance(0.5)) this.#askToWait(random);
    if (this.#set < timers && random.chance(0.4)) this.#wait(random);
    if (leaves && random.chance(0.1)) return this.#finish();
    if (this.#pending.size > 0 || this.#live > 0) return;
    if (this.#asked < asks && random.chance(0.8)) this.#ask(random);
    // Nothing is left to wait for, or it has used up what it may ask.
    if (this.#pending.size === 0) this.#finish();
  }

  #wait(random: Random): void {
    this.#set++;
    this.#live++;
    const delayMs = random.chance(this.#args.isStored === true ? 0.5 : 0.2) ? random.below(150) : random.below(8);
    const ordinal = this.#set;
    this.#timers.set(
      () => {
        this.#live--;
        this.#hash = mix(this.#hash, -ordinal);
        this.#continue();
      },
      delayMs,
      [],
      false,
    );
  }

  #ask(random: Random): void {
    const [capability = "", method = ""] = this.#args.methods[random.below(this.#args.methods.length)] ?? [];
    const ordinal = ++this.#asked;
    const key = `${this.#run}:${ordinal}:${(this.#hash >>> 0).toString(36)}`;
    const stored = this.#args.isStored === true ? ({ isStored: true } as const) : {};
    const args: AskArgs = { key, run: this.#run, mood: random.next(), ...stored };
    const padded = random.chance(0.1) ? { ...args, padding: "x".repeat(random.below(600)) } : args;
    this.#send(capability, method, JSON.stringify(padded), { ordinal, key });
  }

  #askToWait(random: Random): void {
    const ordinal = -1_000 - ++this.#waited;
    const [method, args] = random.pick<readonly [method: string, args: object]>([
      ["approval", { message: "?" }],
      ["signal", { name: `go${this.#waited}` }],
      ["until", { date: this.#nowMs + random.below(4_000) }],
    ]);
    this.#send("pause", method, JSON.stringify(args), { ordinal, key: "" });
  }

  #askChild(): void {
    const child = this.#args.children[this.#children++];
    if (child !== undefined) this.#send("tools", "call", JSON.stringify(child), { ordinal: -this.#children, key: "" });
  }

  #send(capability: string, method: string, args: string, asked: Asked): void {
    const step = this.#host.ask(capability, method, args, this.#nowMs);
    this.#hash = mix(this.#hash, step);
    if (step === 0) return;
    this.#steps = step;
    this.#pending.set(step, asked);
  }

  #finish(): void {
    this.isEnded = true;
    this.#timers.end();
    this.#host.end(`+${JSON.stringify({ hash: this.#hash, steps: this.#steps } satisfies ProgramOutput)}`);
  }
}
