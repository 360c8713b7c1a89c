import type ivm from "isolated-vm";
import type { HeldMemory } from "../../base/protocol/holdings.ts";
import { type ConfigRedactor, configRedactorOf } from "../../base/redaction/config-redactor.ts";
import { isHardened, isParsing, type ToolScript } from "../../base/protocol/script.ts";
import type { BundleCode } from "./bundle-code.ts";
import type { CheckRuntime, OutputCheck } from "./checks.ts";
import { compileTool, type GuestRealm, type LoadedTool } from "./guest-realm.ts";
import { disposeOf, heapBytesOf, type PreparedIsolate } from "./prepared-isolate.ts";
import type { WorkerRuntimes } from "./worker-runtime.ts";

/** Number of served calls after which an isolate is replaced. */
const CALLS_MAX = 100_000;
/** Share of its memory limit beyond which an isolate is not used again. */
const HEAP_SHARE_MAX = 0.75;
/** Turn duration from which the heap's size is read afterwards, in milliseconds. */
const MEASURE_AFTER_MS = 1;
const MEASURE_EVERY_CALLS = 64;
/**
 * Factor of its limit beyond which an isolate is ended although V8 did not: one allocation may be larger than the whole
 * heap may be. Memory outside of the heap counts beside it, and may be as much.
 */
const OVER_FACTOR = 2.5;
/** Time between two checks of the memory of an isolate whose calls continue, in milliseconds. */
const WEIGH_EVERY_MS = 20;
const MIB = 1024 * 1024;

/** Common parts of all isolates of a worker. */
export interface IsolateMeans {
  readonly checks: CheckRuntime;
  readonly code: BundleCode;
  readonly runtimes: WorkerRuntimes;
}

/** One isolate with its tool. Two tools or two tenants never share it. */
export class ToolIsolate {
  readonly tool: string;
  readonly number: number;
  /** Whether it has an interpreter, which takes much more memory. */
  readonly isInterpreted: boolean;
  /** Time of the last call. */
  enteredAtMs = performance.now();
  /** Whether its realm is frozen, so that tools cannot change what the guest emits. */
  readonly isHardened: boolean;
  /** Whether its tool's own schemas may refuse the arguments of calls. */
  readonly isParsing: boolean;
  /** Whether its realm itself refuses code that needs `fetch`. */
  readonly lacksFetch: boolean;
  /** Removes possible keys from logs, reports and errors of its calls; `null` if its config has none. */
  readonly redactor: ConfigRedactor | null;
  /** Numbers of the calls in flight. */
  readonly runs = new Set<number>();
  /** Checks outputs if a tool could change its realm; `null` if its realm checks them, or if they are not checked. */
  readonly outputCheck: OutputCheck | null;
  readonly #isolate: ivm.Isolate;
  readonly #open: (tool: LoadedTool) => GuestRealm;
  readonly #script: ToolScript;
  readonly #loaded: LoadedTool;
  #realm: GuestRealm | null;
  /** At the `context` level, the prepared realm for the next call. */
  #next: GuestRealm | null;
  readonly #onEnd: (isolate: ToolIsolate) => void;
  #served = 0;
  #measureAt = 0;
  #ended = false;
  heapBytes = 0;
  readonly #held: HeldMemory;
  #weighedAtMs = 0;
  /** Memory of its interpreter outside V8's heap, in bytes. */
  #outsideBytes = 0;
  readonly #heapMb: number;
  /** Takes no further calls; it is disposed when the last one ends. */
  retired = false;

  constructor(
    prepared: PreparedIsolate,
    script: ToolScript,
    { checks, code, runtimes }: IsolateMeans,
    held: HeldMemory,
    onEnd: (isolate: ToolIsolate) => void,
  ) {
    this.#held = held;
    this.#onEnd = onEnd;
    this.tool = script.name;
    this.number = prepared.number;
    this.isInterpreted = script.isInterpreted === true;
    this.#heapMb = runtimes.heapMbOf(script);
    this.isHardened = isHardened(script);
    this.isParsing = isParsing(script);
    this.lacksFetch = script.lacksFetch === true;
    this.redactor = configRedactorOf(script);
    this.#isolate = prepared.isolate;
    this.#open = prepared.open;
    this.#script = script;
    // At the `isolate` level, each call compiles the tool.
    const isWhole = script.isolation === "isolate";
    const compileBundle = (...bundle: Parameters<BundleCode["compile"]>) =>
      isWhole ? code.compileWhole(...bundle) : code.compile(...bundle);
    this.#loaded = compileTool(prepared.isolate, script, { code: runtimes.codeOf(script), compileBundle, checks });
    this.outputCheck = this.#loaded.checks?.openOutputCheck() ?? null;
    prepared.realm.load(this.#loaded);
    this.#realm = script.isolation === "context" ? null : prepared.realm;
    this.#next = script.isolation === "context" ? prepared.realm : null;
  }

  /** The realm for one more call, or for several under the first one's number: a new one at the `context` level. */
  enter(callNumber: number, count = 1): GuestRealm {
    this.runs.add(callNumber);
    this.#held.calls = this.runs.size;
    this.#served += count;
    this.enteredAtMs = performance.now();
    if (this.#realm !== null) return this.#realm;
    const realm = this.#next ?? this.#open(this.#loaded);
    this.#next = null;
    return realm;
  }

  /** Whether several calls that could have isolates of their own share its memory: the share of each is unknown. */
  get isCrowded(): boolean {
    return this.runs.size > 1 && this.#script.isolation !== "shared";
  }

  /** Whether the next call's realm can be opened ahead. */
  get isWanting(): boolean {
    return this.#realm === null && this.#next === null && !this.retired;
  }

  /** Opens the next call's realm ahead; returns whether it did. */
  prepare(): boolean {
    if (!this.isWanting) return false;
    // A dead one would want a realm for ever.
    this.retired = this.dead;
    if (this.retired) return false;
    try {
      this.#next = this.#open(this.#loaded);
      return true;
    } catch {
      // The isolate is out of memory.
      this.retired = true;
      return false;
    }
  }

  leave(callNumber: number, realm: GuestRealm): void {
    this.runs.delete(callNumber);
    this.#held.calls = this.runs.size;
    if (this.#ended) return;
    if (realm !== this.#realm) realm[Symbol.dispose]();
    if (this.#script.isolation === "isolate" || this.#served >= CALLS_MAX) this.retired = true;
    if (this.retired && this.runs.size === 0) this.dispose();
  }

  /** Reads the heap's size after some calls or a long turn: reading costs as much as a call. */
  measure(cpuMs: number): void {
    if (this.#ended || (cpuMs < MEASURE_AFTER_MS && this.#served < this.#measureAt)) return;
    this.#measureAt = this.#served + MEASURE_EVERY_CALLS;
    const heapBytes = this.#measureHeap();
    if (heapBytes === null) return;
    this.heapBytes = heapBytes + this.#outsideBytes;
    this.#held.bytes = this.heapBytes;
    if (heapBytes > this.#heapMb * MIB * HEAP_SHARE_MAX) this.retired = true;
  }

  /**
   * Reports the isolate's memory to the watch at intervals while its calls continue; returns whether it is too much.
   */
  weigh(): boolean {
    const nowMs = performance.now();
    if (this.#ended || nowMs - this.#weighedAtMs < WEIGH_EVERY_MS) return false;
    this.#weighedAtMs = nowMs;
    const heapBytes = this.#measureHeap();
    if (heapBytes === null) return false;
    this.#held.bytes = heapBytes + this.#outsideBytes;
    return heapBytes > this.#heapMb * MIB * OVER_FACTOR;
  }

  /** Whether the watch has ordered its end for its memory: it takes no further calls. */
  get isShed(): boolean {
    return this.#held.isShed;
  }

  /** `null` if the terminator ended it with a turn that was just over. */
  #measureHeap(): number | null {
    try {
      return heapBytesOf(this.#isolate);
    } catch {
      this.retired = true;
      return null;
    }
  }

  /** Records the size of the interpreter's memory, which never shrinks. */
  grow(bytes: number): void {
    this.#outsideBytes = Math.max(0, Math.min(bytes, this.#script.memoryMb * MIB)) || 0;
    if (this.#outsideBytes > this.#script.memoryMb * MIB * HEAP_SHARE_MAX) this.retired = true;
  }

  /** Disposed, by us or by V8 at the memory limit. Slow, so read only after a failed turn. */
  get dead(): boolean {
    return this.#isolate.isDisposed;
  }

  dispose(): void {
    this.retired = true;
    disposeOf(this.#isolate);
    if (this.#ended) return;
    this.#ended = true;
    this.#held[Symbol.dispose]();
    this.#onEnd(this);
  }
}
