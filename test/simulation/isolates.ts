import { CELL, type TurnSlot } from "../../src/kernel/base/protocol/turn-record.ts";
import type { ToolScript } from "../../src/kernel/base/protocol/script.ts";
import { isHardened } from "../../src/kernel/base/protocol/script.ts";
import type { GuestRealm } from "../../src/kernel/executor/worker/guest-realm.ts";
import type { IsolationHost, OpenIsolation } from "../../src/kernel/executor/worker/isolation.ts";
import type { Isolates } from "../../src/kernel/executor/worker/isolates.ts";
import type { ToolIsolate } from "../../src/kernel/executor/worker/tool-isolate.ts";
import { EMIT_ASK, EMIT_DONE, EMIT_LOG, EMIT_PROGRESS, EMIT_TIMER, type Emit } from "../../src/kernel/guest/host.ts";
import { type Harm, Program, type ProgramArgs, type ProgramHost } from "./program.ts";
import type { World } from "./world.ts";

/** The process of an isolate, as a program can harm it. */
export interface HarmedProcess {
  /** A program begins in it. */
  begin(callNumber: number, seed: number): void;
  /** Ends it within the current turn. */
  crash(kind: "crash" | "hang", callNumber: number): void;
}

type QueuedCall = readonly [run: number, id: string, nowMs: number, outputMax: number, input: ProgramArgs];

type IsolateMember = "runs" | "number" | "dead" | "isShed" | "isHardened" | "isParsing" | "redactor" | "outputCheck";
type RealmMember = "lines" | "start" | "startNext" | "settle" | "fire" | "cancel" | "recover" | "hearLines";

/** Thrown in a turn that has no end of its own. */
class Cut extends Error {}

/** A realm that runs programs of calls in place of tools. */
class ScriptedRealm implements Pick<GuestRealm, RealmMember | typeof Symbol.dispose> {
  readonly lines = null;
  readonly #isolate: ScriptedIsolate;
  readonly #calls = new Map<number, Program>();
  #queue: readonly QueuedCall[] = [];
  #next = 0;
  #answer = "";
  /** The call whose program begins, and whether it ended meanwhile. */
  #starting = 0;
  #outcome = "";

  constructor(isolate: ScriptedIsolate) {
    this.#isolate = isolate;
  }

  hearLines(): void {}

  start(calls: string): string {
    this.#queue = JSON.parse(calls) as readonly QueuedCall[];
    this.#next = 0;
    return this.startNext();
  }

  /** As `kernel/guest/realm.ts` does it: a call that goes on after others ended is started again in a turn of its own. */
  startNext(): string {
    this.#answer = "";
    for (let ended = 0; this.#next < this.#queue.length; ended++) {
      const queued = this.#queue[this.#next];
      if (queued === undefined) break;
      const outcome = this.#startOne(queued);
      if (outcome === "" && ended > 0) {
        this.#calls.get(queued[0])?.cancel();
        this.#calls.delete(queued[0]);
        break;
      }
      this.#next++;
      this.#answer += `${outcome}\t`;
      if (outcome === "") break;
    }
    if (this.#next < this.#queue.length) this.#answer += "\n";
    return this.#answer;
  }

  #startOne([run, , nowMs, , args]: QueuedCall): string {
    this.#isolate.process.begin(run, args.seed);
    const program = new Program(run, args, nowMs, this.#hostOf(run));
    this.#calls.set(run, program);
    this.#starting = run;
    this.#outcome = "";
    program.start();
    this.#starting = 0;
    // What ends without a wait may have returned a promise all the same.
    const isLater = !args.isShort && this.#outcome !== "";
    if (isLater) this.#isolate.emit(EMIT_DONE, run, this.#outcome, "", "", 0);
    return isLater ? "" : this.#outcome;
  }

  settle(run: number, asks: string, payloads: string, nowMs: number): void {
    this.#calls.get(run)?.settle(asks.split(",").map(Number), payloads.split("\n"), nowMs);
  }

  fire(run: number, nowMs: number): void {
    this.#calls.get(run)?.fire(nowMs);
  }

  cancel(run: number): void {
    this.#calls.get(run)?.cancel();
    this.#calls.delete(run);
  }

  recover(): string {
    return this.#answer;
  }

  [Symbol.dispose](): void {}

  #hostOf(run: number): ProgramHost {
    const { emit, world } = this.#isolate;
    return {
      ask: (capability, method, args, nowMs) => emit(EMIT_ASK, run, capability, method, args, nowMs),
      arm: (dueMs, nowMs) => void emit(EMIT_TIMER, run, dueMs, "", "", nowMs),
      log: (line) => void emit(EMIT_LOG, run, "info", line, "", 0),
      progress: (progress) => void emit(EMIT_PROGRESS, run, progress, "", "", 0),
      end: (outcome) => this.#end(run, outcome),
      harm: (kind) => this.#harm(run, kind),
      work: (ms) => world.spend(ms),
      violate: (text) => world.violate(text),
    };
  }

  #end(run: number, outcome: string): void {
    this.#calls.delete(run);
    if (this.#starting === run) this.#outcome = outcome;
    else this.#isolate.emit(EMIT_DONE, run, outcome, "", "", 0);
  }

  #harm(run: number, kind: Harm): void {
    if (this.#isolate.world.trace !== null) this.#isolate.world.note(`run ${run} does: ${kind}`);
    switch (kind) {
      case "throw":
        this.#calls.get(run)?.cancel();
        return this.#end(run, '-{"code":"tool_error","message":"the program threw"}');
      case "spin":
        this.#isolate.cut();
        throw new Cut("the turn was ended");
      case "memory":
        this.#isolate.die();
        throw new Cut("out of memory");
      case "crash":
      case "hang":
        this.#isolate.process.crash(kind, run);
        throw new Cut("the process is gone");
    }
  }
}

class ScriptedIsolate implements Pick<ToolIsolate, IsolateMember> {
  readonly runs = new Set<number>();
  readonly isShed = false;
  readonly isParsing = false;
  readonly redactor = null;
  readonly outputCheck = null;
  readonly number: number;
  readonly isHardened: boolean;
  readonly world: World;
  readonly process: HarmedProcess;
  readonly emit: Emit;
  readonly heapBytes = 1_000_000;
  dead = false;
  retired = false;
  readonly #realm = new ScriptedRealm(this);
  readonly #slot: TurnSlot;

  constructor(
    number: number,
    script: ToolScript,
    { slot, emit }: IsolationHost,
    { world, process }: { readonly world: World; readonly process: HarmedProcess },
  ) {
    this.number = number;
    this.isHardened = isHardened(script);
    this.emit = emit;
    this.world = world;
    this.process = process;
    this.#slot = slot;
  }

  enter(callNumber: number): ScriptedRealm {
    this.runs.add(callNumber);
    return this.#realm;
  }

  leave(callNumber: number): void {
    this.runs.delete(callNumber);
    if (this.retired && this.runs.size === 0) this.dispose();
  }

  /** The terminator ends it with the current turn, as the watch has ordered. */
  cut(): void {
    this.world.spend(5);
    Atomics.store(this.#slot.cells, CELL.ended, Atomics.load(this.#slot.cells, CELL.turn));
    this.dead = true;
  }

  die(): void {
    this.dead = true;
  }

  dispose(): void {
    this.retired = true;
    this.dead = true;
  }

  weigh(): void {}
  measure(): void {}
  grow(): void {}
}

/** Isolates that run programs, in a process that they can harm. */
export function scriptedIsolation(world: World, process: HarmedProcess): OpenIsolation {
  return (host) => {
    const warm = new Map<string, ScriptedIsolate>();
    let lastNumber = 0;
    const open = (script: ToolScript): ScriptedIsolate =>
      new ScriptedIsolate(++lastNumber, script, host, { world, process });
    const isWarm = (key: string): boolean => warm.get(key)?.retired === false;
    const isolates = {
      checks: { takeRefusal: () => false, takePlace: () => "" },
      isWarm: ({ key }: ToolScript, tenant: string) => isWarm(`${key} ${tenant}`),
      get: (script: ToolScript, tenant: string, own: boolean) => {
        const key = `${script.key} ${tenant}`;
        const known = warm.get(key);
        if (!own && known?.retired === false) return known;
        const fresh = open(script);
        if (own) fresh.retired = true;
        else warm.set(key, fresh);
        return fresh;
      },
      forget: (key: string) => {
        for (const [name, isolate] of warm) if (name.startsWith(`${key} `)) isolate.retired = true;
      },
      isNextWanting: false,
      isWanting: false,
      refill: () => undefined,
      dropStale: () => undefined,
      stats: () => ({ active: 0, warm: warm.size, blank: 0, starts: {}, heapBytes: {} }),
      dispose: () => undefined,
    };
    return {
      isolates: isolates as unknown as Isolates,
      terminator: { hasEnded: () => false, [Symbol.asyncDispose]: () => Promise.resolve() },
    };
  };
}
