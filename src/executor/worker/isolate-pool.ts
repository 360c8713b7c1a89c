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
import type { Python } from "./python/python.ts";
import type { PreparedIsolate } from "./tool-isolate.ts";

const BLANKS_MAX = 2;
/** Each takes as much memory as dozens of the others. */
const PYTHON_BLANKS_MAX = 1;
/** Starting one takes so long that nobody shall wait for it: the worker must have had nothing to do, in milliseconds. */
const PYTHON_AFTER_MS = 250;
const BLANK_KINDS_MAX = 3;

/** What blanks differ in. A realm is hardened where calls share it; one that serves a single call stays open. */
export interface PreparedIsolateKind {
  readonly runtime: Runtime;
  readonly memoryMb: number;
  readonly hardened: boolean;
}

interface Stock {
  readonly kind: PreparedIsolateKind;
  readonly blanks: PreparedIsolate[];
}

/** Isolates with a prelude and no tool yet, made ahead, so that a tool that is called for the first time starts at once. */
export class IsolatePool implements Disposable {
  readonly #prelude: Prelude;
  readonly #host: RealmHost;
  readonly #python: Python;
  readonly #onStart: (kind: "blank" | "context") => void;
  /** By kinds that were used last, least recently used first. */
  readonly #stocks = new Map<string, Stock>();
  #usedAtMs = 0;
  /** What V8 made of the prelude, by whether it was for a hardened realm. */
  readonly #preludeCode = new Map<boolean, PreludeCode | undefined>();

  constructor(prelude: Prelude, host: RealmHost, python: Python, onStart: (kind: "blank" | "context") => void) {
    this.#prelude = prelude;
    this.#host = host;
    this.#python = python;
    this.#onStart = onStart;
  }

  get count(): number {
    let count = 0;
    for (const { blanks } of this.#stocks.values()) count += blanks.length;
    return count;
  }

  /** A blank of a kind: of that kind there will be another. Throws where none can be made. */
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
    return place.blanks.pop() ?? this.#create(kind);
  }

  /** Whether there is something to prepare. */
  get isWanting(): boolean {
    for (const place of this.#stocks.values()) if (this.#isWanting(place)) return true;
    return false;
  }

  /** Prepares something; says whether it did. */
  refill(): boolean {
    for (const [key, place] of this.#stocks) {
      if (!this.#isWanting(place)) continue;
      const { kind, blanks } = place;
      try {
        if (this.#preludeCode.has(kind.hardened)) blanks.push(this.#create(kind));
        else this.#preludeCode.set(kind.hardened, rehearsePrelude(this.#prelude.core, kind.hardened));
      } catch {
        // Nobody waits for it. Whoever needs one hears what is wrong: for Python that its image is gone.
        this.#stocks.delete(key);
      }
      return true;
    }
    return false;
  }

  /** Somebody needs the worker. */
  noteUse(): void {
    this.#usedAtMs = performance.now();
  }

  #isWanting({ kind, blanks }: Stock): boolean {
    if (kind.runtime !== "python") return blanks.length < BLANKS_MAX;
    return blanks.length < PYTHON_BLANKS_MAX && performance.now() - this.#usedAtMs >= PYTHON_AFTER_MS;
  }

  [Symbol.dispose](): void {
    for (const { blanks } of this.#stocks.values()) for (const prepared of blanks) prepared.isolate.dispose();
    this.#stocks.clear();
  }

  #create({ runtime, memoryMb, hardened }: PreparedIsolateKind): PreparedIsolate {
    this.#onStart("blank");
    const code = this.#preludeCode.get(hardened);
    if (runtime === "python") return this.#python.createBlank(memoryMb, this.#prelude.core, code, this.#host);
    const isolate = new ivm.Isolate({ memoryLimit: memoryMb });
    const prelude = compileScript(isolate, "prelude", this.#prelude.core, code);
    const engine = runtime === "javascript" ? null : compileScript(isolate, runtime, this.#prelude.engines[runtime]);
    const open = (tool: LoadedTool) => {
      this.#onStart("context");
      return GuestRealm.open(isolate, { prelude, engine }, this.#host, false, tool);
    };
    return { isolate, realm: GuestRealm.open(isolate, { prelude, engine }, this.#host, hardened), open };
  }
}
