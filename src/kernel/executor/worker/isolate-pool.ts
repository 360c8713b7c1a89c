import ivm from "isolated-vm";
import type { Prelude } from "../../base/protocol/prelude.ts";
import type { Runtime } from "../../base/protocol/script.ts";
import {
  compileScript,
  GuestRealm,
  type LoadedTool,
  type PreludeCode,
  type RealmHost,
  rehearsePrelude,
} from "./guest-realm.ts";
import { wholeCodeOf } from "./bundle-code.ts";
import type { PreparedIsolate } from "./prepared-isolate.ts";
import type { InterpreterPrelude, WorkerRuntimes } from "./worker-runtime.ts";

const BLANKS_MAX = 2;
/** Each takes as much memory as dozens of the others. */
const INTERPRETERS_MAX = 1;
/** Minimum idle time of the worker before an interpreter is prepared, in milliseconds: calls should not wait for it. */
const INTERPRETER_AFTER_MS = 250;
const BLANK_KINDS_MAX = 3;

/** The properties of prepared isolates. A realm is hardened if calls share it; a realm for a single call stays open. */
export interface PreparedIsolateKind {
  readonly runtime: Runtime;
  readonly memoryMb: number;
  readonly isInterpreted: boolean;
  readonly hardened: boolean;
}

interface Stock {
  readonly kind: PreparedIsolateKind;
  readonly blanks: PreparedIsolate[];
}

/** Prepared isolates with a prelude and no tool, so that the first call of a tool starts at once. */
export class IsolatePool implements Disposable {
  readonly #prelude: Omit<Prelude, "parts">;
  readonly #host: RealmHost;
  readonly #runtimes: WorkerRuntimes;
  readonly #keep: (isolate: ivm.Isolate) => number;
  readonly #onStart: (kind: "blank" | "context") => void;
  /** Stocks by kind, least recently used first. */
  readonly #stocks = new Map<string, Stock>();
  #usedAtMs = 0;
  /** V8's code caches of the prelude, by whether the realm is hardened. */
  readonly #preludeCode = new Map<boolean, PreludeCode | undefined>();
  /** The same of engines, whose functions a tool's first call needs, by their runtimes. */
  readonly #engineCode = new Map<string, PreludeCode | undefined>();

  /** `keep` numbers a new isolate for the terminator. */
  constructor(
    prelude: Omit<Prelude, "parts">,
    host: RealmHost,
    runtimes: WorkerRuntimes,
    keep: (isolate: ivm.Isolate) => number,
    onStart: (kind: "blank" | "context") => void,
  ) {
    this.#prelude = prelude;
    this.#host = host;
    this.#runtimes = runtimes;
    this.#keep = keep;
    this.#onStart = onStart;
  }

  get count(): number {
    let count = 0;
    for (const { blanks } of this.#stocks.values()) count += blanks.length;
    return count;
  }

  /** A prepared isolate of a kind; a replacement is prepared later. Throws if none can be created. */
  take(kind: PreparedIsolateKind): PreparedIsolate {
    const key = `${kind.runtime} ${kind.memoryMb} ${kind.hardened}`;
    const place = this.#stocks.get(key) ?? { kind, blanks: [] };
    this.#stocks.delete(key);
    this.#stocks.set(key, place);
    for (const [oldest, { blanks }] of this.#stocks) {
      if (this.#stocks.size <= BLANK_KINDS_MAX) break;
      this.#stocks.delete(oldest);
      for (const prepared of blanks) prepared.isolate.dispose();
    }
    const prepared = place.blanks.pop() ?? this.#create(kind);
    this.#usedAtMs = performance.now();
    return prepared;
  }

  /** Whether there is an isolate to prepare. */
  get isWanting(): boolean {
    for (const place of this.#stocks.values()) if (this.#isWanting(place)) return true;
    return false;
  }

  /** Prepares an isolate. */
  refill(): void {
    for (const [key, place] of this.#stocks) {
      if (!this.#isWanting(place)) continue;
      const { kind } = place;
      try {
        if (this.#preludeCode.has(kind.hardened)) this.#prepare(place);
        else this.#preludeCode.set(kind.hardened, rehearsePrelude(this.#prelude.core, kind.hardened));
      } catch {
        // The next `take` reports the error, such as a missing Python image.
        this.#stocks.delete(key);
      }
      return;
    }
  }

  #prepare({ kind, blanks }: Stock): void {
    const { runtime, memoryMb, hardened } = kind;
    const interpreters = this.#runtimes.interpretersOf(runtime);
    if (interpreters?.isRehearsed === false) return interpreters.rehearse(memoryMb, this.#text(hardened), this.#host);
    if (interpreters === null && runtime !== "javascript" && !this.#engineCode.has(runtime)) {
      const code = wholeCodeOf(this.#runtimes.engineOf(runtime), `glovebox:${runtime}`);
      this.#engineCode.set(runtime, code);
    } else blanks.push(this.#create(kind));
  }

  /** Records that a call uses the worker. */
  recordUse(): void {
    this.#usedAtMs = performance.now();
  }

  #isWanting({ kind, blanks }: Stock): boolean {
    if (!kind.isInterpreted) return blanks.length < BLANKS_MAX;
    return blanks.length < INTERPRETERS_MAX && performance.now() - this.#usedAtMs >= INTERPRETER_AFTER_MS;
  }

  [Symbol.dispose](): void {
    for (const { blanks } of this.#stocks.values()) for (const prepared of blanks) prepared.isolate.dispose();
    this.#stocks.clear();
  }

  #create(kind: PreparedIsolateKind): PreparedIsolate {
    this.#onStart("blank");
    const started = this.#start(kind);
    return { ...started, number: this.#keep(started.isolate) };
  }

  #start({ runtime, memoryMb, hardened }: PreparedIsolateKind): Omit<PreparedIsolate, "number"> {
    const interpreters = this.#runtimes.interpretersOf(runtime);
    if (interpreters !== null) return interpreters.start(memoryMb, this.#text(hardened), this.#host);
    const isolate = new ivm.Isolate({ memoryLimit: memoryMb });
    const prelude = compileScript(isolate, "prelude", this.#prelude.core, this.#preludeCode.get(hardened));
    const engine = runtime === "javascript" ? null : this.#compileEngine(isolate, runtime);
    const open = (tool: LoadedTool) => {
      this.#onStart("context");
      return GuestRealm.open(isolate, { prelude, engine }, this.#host, false, tool);
    };
    return { isolate, realm: GuestRealm.open(isolate, { prelude, engine }, this.#host, hardened), open };
  }
  #compileEngine(isolate: ivm.Isolate, runtime: string): ivm.Script {
    return compileScript(isolate, runtime, this.#runtimes.engineOf(runtime), this.#engineCode.get(runtime));
  }

  #text(hardened: boolean): InterpreterPrelude {
    return { text: this.#prelude.core, code: this.#preludeCode.get(hardened) };
  }
}
