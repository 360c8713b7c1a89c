import { createHash } from "node:crypto";
import ivm from "isolated-vm";
import type { WorkerHoldings } from "../../base/protocol/holdings.ts";
import type { Emit, Pure } from "../../guest/host.ts";
import type { WorkerStats } from "../../base/protocol/messages.ts";
import type { Prelude } from "../../base/protocol/prelude.ts";
import { homeOf, isHardened, type ToolScript } from "../../base/protocol/script.ts";
import { disposeOf, heapBytesOf, type PreparedIsolate } from "./prepared-isolate.ts";
import { ToolIsolate } from "./tool-isolate.ts";
import { BundleCode } from "./bundle-code.ts";
import { CheckRuntime } from "./checks.ts";
import { compileTool } from "./guest-realm.ts";
import { IsolatePool } from "./isolate-pool.ts";
import type { WorkerRuntimes } from "./worker-runtime.ts";

/** Maximum number of isolates kept after an inspection: the tool's first call is likely to follow. */
const INSPECTED_MAX = 2;
/** Maximum time for which they are kept, in milliseconds, and their maximum size. */
const INSPECTED_MS = 5_000;
const INSPECTED_BYTES_MAX = 16 * 1024 * 1024;
/** Weight of an isolate with an interpreter among the warm ones: it takes that much more memory. */
const INTERPRETER_WEIGHT = 16;
/** Idle time after which an interpreter is dropped, in milliseconds. */
const INTERPRETER_IDLE_MS = 5 * 60_000;

/** An isolate with an evaluated module that no call has used yet. */
interface Inspected {
  readonly script: ToolScript;
  readonly blank: PreparedIsolate;
  readonly keptAtMs: number;
}

/**
 * The isolates of one worker: the warm ones by tool and tenant, least recently used first, and a pool of prepared ones.
 */
export class Isolates {
  readonly #pool: IsolatePool;
  readonly #runtimes: WorkerRuntimes;
  readonly #warmMax: number;
  readonly #warm = new Map<string, ToolIsolate>();
  readonly #live = new Set<ToolIsolate>();
  /** The isolate of the tool called last. */
  #latest: ToolIsolate | null = null;
  readonly #inspected: Inspected[] = [];
  readonly #code = new BundleCode();
  #reservedMb = 0;
  readonly #reserve: (memoryMb: number) => void;
  readonly #holdings: WorkerHoldings;
  readonly checks: CheckRuntime;
  readonly #starts: { [kind: string]: number } = { blank: 0, tool: 0, context: 0 };

  /**
   * `reserve` receives the total memory that the live isolates may use, in MiB. `keep` makes an isolate one whose turns
   * can be ended, and numbers it.
   */
  constructor(
    prelude: Omit<Prelude, "parts">,
    runtimes: WorkerRuntimes,
    warmMax: number,
    emit: Emit,
    pure: Pure,
    reserve: (memoryMb: number) => void,
    keep: (isolate: ivm.Isolate) => number,
    holdings: WorkerHoldings,
  ) {
    this.#holdings = holdings;
    this.checks = new CheckRuntime(prelude.checks);
    this.#warmMax = warmMax;
    this.#runtimes = runtimes;
    const host = { emit: new ivm.Callback(emit), pure: new ivm.Callback(pure) };
    this.#pool = new IsolatePool(prelude, host, runtimes, keep, (kind) => this.#count(kind));
    this.#reserve = reserve;
  }

  /** Whether a warm isolate exists for this tool and tenant. */
  isWarm(script: ToolScript, tenant: string): boolean {
    const warm = this.#warm.get(homeOf(script.key, tenant));
    return warm !== undefined && !warm.retired && !warm.isShed;
  }

  /**
   * The isolate for calls of this tool and tenant. `own` requests one for this call alone, which has no effect if calls
   * share the module's state. Throws if the bundle cannot be compiled.
   */
  get(script: ToolScript, tenant: string, own: boolean): ToolIsolate {
    this.#pool.recordUse();
    if (script.isolation === "isolate") return this.#start(script, tenant);
    if (own && script.isolation !== "shared") return this.#startForOne(script, tenant);
    const key = homeOf(script.key, tenant);
    const warm = this.#warm.get(key);
    // It is the last one in the map already.
    if (warm !== undefined && warm === this.#latest && !warm.retired && !warm.isShed) return warm;
    if (warm !== undefined) {
      this.#warm.delete(key);
      if (warm.isShed) warm.retired = true;
      if (!warm.retired) {
        this.#warm.set(key, warm);
        this.#latest = warm;
        return warm;
      }
      if (warm.runs.size === 0) warm.dispose();
    }
    const fresh = this.#start(script, tenant);
    this.#latest = fresh;
    this.#warm.set(key, fresh);
    this.#evict();
    return fresh;
  }

  /** Drops the warm isolates of a removed tool; calls in flight end on theirs. */
  forget(key: string): void {
    this.#dropInspected(({ script }) => script.key === key);
    for (const [warmKey, isolate] of this.#warm) {
      if (!warmKey.startsWith(homeOf(key, ""))) continue;
      this.#warm.delete(warmKey);
      retire(isolate);
    }
  }

  /** An isolate for an inspection, with the script loaded; the caller disposes of it or calls `keep`. */
  scratch(script: ToolScript, hardened: boolean): PreparedIsolate {
    const { runtime, memoryMb, isInterpreted = false } = script;
    this.#pool.recordUse();
    const prepared = this.#pool.take({ runtime, memoryMb, isInterpreted, hardened: !isInterpreted && hardened });
    try {
      const code = this.#runtimes.codeOf(script);
      const compileBundle = (...bundle: Parameters<BundleCode["compileWhole"]>) => this.#code.compileWhole(...bundle);
      prepared.realm.load(compileTool(prepared.isolate, script, { code, compileBundle }));
      return prepared;
    } catch (error) {
      disposeOf(prepared.isolate);
      throw error;
    }
  }

  /**
   * Keeps the isolate of a successful inspection for the first tenant that calls the tool: evaluating the module in a
   * frozen realm leaves no more behind than a call does.
   */
  keep(script: ToolScript, prepared: PreparedIsolate): void {
    const isLarge = script.isInterpreted !== true && heapBytesOf(prepared.isolate) > INSPECTED_BYTES_MAX;
    if (isLarge || !servesCalls(script)) return prepared.isolate.dispose();
    this.#reserve((this.#reservedMb += this.#runtimes.weightMbOf(script)));
    this.#inspected.push({ script, blank: prepared, keptAtMs: performance.now() });
    const [oldest] = this.#inspected;
    if (this.#inspected.length > INSPECTED_MAX) this.#dropInspected((inspected) => inspected === oldest);
  }

  /** Drops isolates of inspections without a call soon after, and interpreters without a call for long. */
  dropStale(): void {
    const nowMs = performance.now();
    this.#dropInspected(({ keptAtMs }) => nowMs - keptAtMs > INSPECTED_MS);
    for (const [key, isolate] of this.#warm) {
      if (!isolate.isInterpreted || nowMs - isolate.enteredAtMs <= INTERPRETER_IDLE_MS) continue;
      this.#warm.delete(key);
      retire(isolate);
    }
  }

  #dropInspected(isDropped: (inspected: Inspected) => boolean): void {
    for (const inspected of this.#inspected.filter(isDropped)) this.#takeOut(inspected).isolate.dispose();
  }

  /** Removes an isolate from the inspected ones. */
  #takeOut(inspected: Inspected): PreparedIsolate {
    this.#inspected.splice(this.#inspected.indexOf(inspected), 1);
    this.#reserve((this.#reservedMb -= this.#runtimes.weightMbOf(inspected.script)));
    return inspected.blank;
  }

  /** Whether the next call of the tool called last needs a realm: that call may follow at once. */
  get isNextWanting(): boolean {
    return this.#latest?.isWanting === true;
  }

  /** Whether there is an isolate to prepare. */
  get isWanting(): boolean {
    return this.#pool.isWanting;
  }

  /** Prepares one of these while the worker is idle. */
  refill(): void {
    if (this.#latest?.prepare() !== true) this.#pool.refill();
  }

  stats(): WorkerStats {
    let active = 0;
    const heapBytes = Object.create(null) as { [tool: string]: number };
    for (const isolate of this.#live) {
      if (isolate.runs.size > 0) active++;
      heapBytes[isolate.tool] = (heapBytes[isolate.tool] ?? 0) + isolate.heapBytes;
    }
    return { active, warm: this.#live.size - active, blank: this.#pool.count, starts: this.#starts, heapBytes };
  }

  dispose(): void {
    for (const isolate of this.#live) isolate.dispose();
    for (const { blank: prepared } of this.#inspected) prepared.isolate.dispose();
    this.#pool[Symbol.dispose]();
    this.#runtimes[Symbol.dispose]();
    this.#code[Symbol.dispose]();
  }

  #start(script: ToolScript, tenant: string): ToolIsolate {
    const { runtime, memoryMb, isInterpreted = false } = script;
    const kind = { runtime, memoryMb, isInterpreted, hardened: isHardened(script) };
    const prepared = this.#takeInspected(script) ?? this.#pool.take(kind);
    const held = this.#holdings.open(prepared.number, numberOf(tenant));
    try {
      const means = { checks: this.checks, code: this.#code, runtimes: this.#runtimes };
      const isolate = new ToolIsolate(prepared, script, means, held, (dead) => {
        this.#live.delete(dead);
        this.#reserve((this.#reservedMb -= this.#runtimes.weightMbOf(script)));
      });
      this.#live.add(isolate);
      this.#reserve((this.#reservedMb += this.#runtimes.weightMbOf(script)));
      this.#count("tool");
      return isolate;
    } catch (error) {
      held[Symbol.dispose]();
      disposeOf(prepared.isolate);
      throw error;
    }
  }

  /** An isolate that ends with its only call. */
  #startForOne(script: ToolScript, tenant: string): ToolIsolate {
    const isolate = this.#start(script, tenant);
    isolate.retired = true;
    return isolate;
  }

  #evict(): void {
    let weight = 0;
    for (const isolate of this.#warm.values()) weight += weightOf(isolate);
    for (const [key, isolate] of this.#warm) {
      // The newest one is needed now.
      if (weight <= this.#warmMax || this.#warm.size === 1) return;
      weight -= weightOf(isolate);
      this.#warm.delete(key);
      retire(isolate);
    }
  }

  #takeInspected(script: ToolScript): PreparedIsolate | undefined {
    if (!servesCalls(script)) return undefined;
    const { runtime, text, memoryMb } = script;
    const fitting = ({ script: known }: Inspected) =>
      known.runtime === runtime && known.text === text && known.memoryMb === memoryMb;
    const inspected = this.#inspected.find(fitting);
    return inspected === undefined ? undefined : this.#takeOut(inspected);
  }

  #count(kind: string): void {
    this.#starts[kind] = (this.#starts[kind] ?? 0) + 1;
  }
}

/** A tenant in the table of isolates' memory: a number for which no second name can be found. */
function numberOf(tenant: string): number {
  return createHash("sha256").update(tenant).digest().readUIntBE(0, 6);
}

/** Whether evaluating the module in advance leaves the isolate as a call would. */
function servesCalls({ isolation }: ToolScript): boolean {
  return isolation === "instance" || isolation === "shared";
}

function weightOf({ isInterpreted }: ToolIsolate): number {
  return isInterpreted ? INTERPRETER_WEIGHT : 1;
}

function retire(isolate: ToolIsolate): void {
  isolate.retired = true;
  if (isolate.runs.size === 0) isolate.dispose();
}
