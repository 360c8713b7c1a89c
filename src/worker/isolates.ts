import ivm from "isolated-vm";
import type { Emit, Pure } from "../guest/host.ts";
import type { ToolScript } from "../protocol/script.ts";
import { compilePrelude, compileTool, GuestRealm } from "./guest-realm.ts";

/** Served calls after which an isolate makes room for a new one. */
const CALLS_MAX = 100_000;
/** Share of its memory limit beyond which an isolate is not used again. */
const HEAP_SHARE_MAX = 0.75;
/** Turns longer than this are worth reading the heap's size after, in milliseconds. */
const MEASURE_AFTER_MS = 1;
const MEASURE_EVERY_CALLS = 64;
const BLANKS_MAX = 2;
const BLANK_KINDS_MAX = 2;

/** One isolate and the tool in it. It is never shared by two tools or two tenants. */
export class ToolIsolate {
  readonly tool: string;
  /** Whether its realm is frozen, so that what the guest says in there is the guest's own. */
  readonly isHardened: boolean;
  /** Numbers of the calls in flight. */
  readonly runs = new Set<number>();
  readonly #isolate: ivm.Isolate;
  readonly #open: () => GuestRealm;
  readonly #script: ToolScript;
  readonly #compiled: ivm.Script;
  #realm: GuestRealm | null;
  readonly #onEnd: (isolate: ToolIsolate) => void;
  #served = 0;
  #measureAt = 0;
  #ended = false;
  heapBytes = 0;
  /** No further calls: it is disposed when the last one ends. */
  retired = false;

  constructor(blank: Blank, script: ToolScript, onEnd: (isolate: ToolIsolate) => void) {
    this.#onEnd = onEnd;
    this.tool = script.name;
    this.isHardened = isHardened(script);
    this.#isolate = blank.isolate;
    this.#open = blank.open;
    this.#script = script;
    this.#compiled = compileTool(blank.isolate, script);
    this.#realm = script.isolation === "context" ? null : blank.realm;
    if (script.isolation === "context") blank.realm[Symbol.dispose]();
    this.#realm?.load(this.#compiled, script);
  }

  /** The realm for one more call: a new one at the `context` level. */
  enter(run: number): GuestRealm {
    this.runs.add(run);
    this.#served++;
    if (this.#realm !== null) return this.#realm;
    const realm = this.#open();
    realm.load(this.#compiled, this.#script);
    return realm;
  }

  leave(run: number, realm: GuestRealm): void {
    this.runs.delete(run);
    if (this.#ended) return;
    if (realm !== this.#realm) realm[Symbol.dispose]();
    if (this.#script.isolation === "isolate" || this.#served >= CALLS_MAX) this.retired = true;
    if (this.retired && this.runs.size === 0) this.dispose();
  }

  /** Reads the heap's size if the last time is some calls ago, or if one was long: reading costs as much as a call. */
  measure(cpuMs: number): void {
    if (this.#ended || (cpuMs < MEASURE_AFTER_MS && this.#served < this.#measureAt)) return;
    this.#measureAt = this.#served + MEASURE_EVERY_CALLS;
    const { used_heap_size: used, externally_allocated_size: external } = this.#isolate.getHeapStatisticsSync();
    this.heapBytes = used + external;
    if (this.heapBytes > this.#script.memoryMb * 1024 * 1024 * HEAP_SHARE_MAX) this.retired = true;
  }

  /** Disposed, by us or by V8 at the memory limit: asked for only where a turn failed, for asking is slow. */
  get dead(): boolean {
    return this.#isolate.isDisposed;
  }

  dispose(): void {
    this.retired = true;
    if (!this.dead) this.#isolate.dispose();
    if (this.#ended) return;
    this.#ended = true;
    this.#onEnd(this);
  }
}

/** An isolate with a realm and no tool yet. */
interface Blank {
  readonly isolate: ivm.Isolate;
  readonly realm: GuestRealm;
  /** Opens a further realm, which is not hardened. */
  readonly open: () => GuestRealm;
}

/** A realm that serves many calls is frozen; one that serves a single call is its tool's to change. */
export function isHardened({ isolation }: ToolScript): boolean {
  return isolation === "instance" || isolation === "shared";
}

/** What blanks differ in. A realm is hardened where calls share it; one that serves a single call stays open. */
interface BlankKind {
  readonly memoryMb: number;
  readonly hardened: boolean;
}

/** The isolates of one worker: the warm ones by tool and tenant, least recently used first, and a shelf of blanks. */
export class Isolates {
  readonly #prelude: string;
  readonly #emit: Emit;
  readonly #pure: Pure;
  readonly #warmMax: number;
  readonly #warm = new Map<string, ToolIsolate>();
  readonly #live = new Set<ToolIsolate>();
  /** Blanks of the kinds that were used last, least recently used first. */
  readonly #shelf = new Map<string, { readonly kind: BlankKind; readonly blanks: Blank[] }>();
  #preludeCode: ivm.ExternalCopy<ArrayBuffer> | undefined;
  #reservedMb = 0;
  readonly #reserve: (memoryMb: number) => void;
  readonly starts: { [kind: string]: number } = { blank: 0, tool: 0, context: 0 };

  /** `reserve` is told how much memory the isolates that live may use together, in MiB. */
  constructor(prelude: string, warmMax: number, emit: Emit, pure: Pure, reserve: (memoryMb: number) => void) {
    this.#prelude = prelude;
    this.#warmMax = warmMax;
    this.#emit = emit;
    this.#pure = pure;
    this.#reserve = reserve;
  }

  /** Whether a call of this tool and tenant finds its isolate ready. */
  isWarm(script: ToolScript, tenant: string): boolean {
    const warm = this.#warm.get(`${script.key} ${tenant}`);
    return warm !== undefined && !warm.retired;
  }

  /** The isolate for a call of this tool and tenant. Throws where the bundle cannot be compiled. */
  get(script: ToolScript, tenant: string): ToolIsolate {
    if (script.isolation === "isolate") return this.#start(script);
    const key = `${script.key} ${tenant}`;
    const warm = this.#warm.get(key);
    if (warm !== undefined) {
      this.#warm.delete(key);
      if (!warm.retired) {
        this.#warm.set(key, warm);
        return warm;
      }
      if (warm.runs.size === 0) warm.dispose();
    }
    const fresh = this.#start(script);
    this.#warm.set(key, fresh);
    this.#evict();
    return fresh;
  }

  /** Drops the warm isolates of a tool that is gone; calls in flight end on theirs. */
  forget(key: string): void {
    for (const [warmKey, isolate] of this.#warm) {
      if (!warmKey.startsWith(`${key} `)) continue;
      this.#warm.delete(warmKey);
      retire(isolate);
    }
  }

  /** A blank for an inspection; the caller disposes of it. */
  scratch(script: ToolScript, hardened: boolean): { readonly isolate: ivm.Isolate; readonly realm: GuestRealm } {
    const blank = this.#takeBlank({ memoryMb: script.memoryMb, hardened });
    blank.realm.load(compileTool(blank.isolate, script), script);
    return blank;
  }

  /** Puts a blank on the shelf, for when the worker has nothing to do; says whether another may be wanted. */
  refill(): boolean {
    for (const { kind, blanks } of this.#shelf.values()) {
      if (blanks.length >= BLANKS_MAX) continue;
      blanks.push(this.#createBlank(kind));
      return true;
    }
    return false;
  }

  counts(): { active: number; warm: number; blank: number } {
    let active = 0;
    let warm = 0;
    for (const isolate of this.#live) {
      if (isolate.runs.size > 0) active++;
      else warm++;
    }
    let blank = 0;
    for (const { blanks } of this.#shelf.values()) blank += blanks.length;
    return { active, warm, blank };
  }

  /** Heap in bytes by tool. */
  heaps(): { [tool: string]: number } {
    const heaps: { [tool: string]: number } = Object.create(null) as { [tool: string]: number };
    for (const isolate of this.#live) {
      heaps[isolate.tool] = (heaps[isolate.tool] ?? 0) + isolate.heapBytes;
    }
    return heaps;
  }

  dispose(): void {
    for (const isolate of this.#live) isolate.dispose();
    for (const { blanks } of this.#shelf.values()) for (const blank of blanks) blank.isolate.dispose();
    this.#shelf.clear();
  }

  #start(script: ToolScript): ToolIsolate {
    const blank = this.#takeBlank({ memoryMb: script.memoryMb, hardened: isHardened(script) });
    try {
      const isolate = new ToolIsolate(blank, script, (dead) => {
        this.#live.delete(dead);
        this.#reserve((this.#reservedMb -= script.memoryMb));
      });
      this.#live.add(isolate);
      this.#reserve((this.#reservedMb += script.memoryMb));
      this.#count("tool");
      return isolate;
    } catch (error) {
      if (!blank.isolate.isDisposed) blank.isolate.dispose();
      throw error;
    }
  }

  #evict(): void {
    for (const [key, isolate] of this.#warm) {
      if (this.#warm.size <= this.#warmMax) return;
      this.#warm.delete(key);
      retire(isolate);
    }
  }

  #takeBlank(kind: BlankKind): Blank {
    const key = `${kind.memoryMb} ${kind.hardened}`;
    const place = this.#shelf.get(key) ?? { kind, blanks: [] };
    this.#shelf.delete(key);
    this.#shelf.set(key, place);
    for (const [oldest, { blanks }] of this.#shelf) {
      if (this.#shelf.size <= BLANK_KINDS_MAX) break;
      this.#shelf.delete(oldest);
      for (const blank of blanks) blank.isolate.dispose();
    }
    return place.blanks.pop() ?? this.#createBlank(kind);
  }

  #createBlank({ memoryMb, hardened }: BlankKind): Blank {
    const isolate = new ivm.Isolate({ memoryLimit: memoryMb });
    const prelude = compilePrelude(isolate, this.#prelude, this.#preludeCode);
    this.#preludeCode ??= (prelude as { cachedData?: ivm.ExternalCopy<ArrayBuffer> }).cachedData;
    const openRealm = (harden: boolean) => GuestRealm.open(isolate, prelude, this.#emit, this.#pure, harden);
    this.#count("blank");
    const open = () => {
      this.#count("context");
      return openRealm(false);
    };
    return { isolate, realm: openRealm(hardened), open };
  }

  #count(kind: string): void {
    this.starts[kind] = (this.starts[kind] ?? 0) + 1;
  }
}

function retire(isolate: ToolIsolate): void {
  isolate.retired = true;
  if (isolate.runs.size === 0) isolate.dispose();
}
