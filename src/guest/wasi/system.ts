import { WASI, WASIProcExit, wasi } from "@bjorn3/browser_wasi_shim";
import type { EngineWorld } from "../host.ts";
import { encodeUtf8 } from "../web/utf8.ts";
import { OUTPUT_PATH, type CallFiles, emptyInput } from "./files.ts";
import type { Printed } from "./printed.ts";

const NS_PER_MS = 1_000_000n;
const US_PER_MS = 1_000;
const NS_PER_US = 1_000n;
const CLOCKS: readonly number[] = [
  wasi.CLOCKID_REALTIME,
  wasi.CLOCKID_MONOTONIC,
  wasi.CLOCKID_PROCESS_CPUTIME_ID,
  wasi.CLOCKID_THREAD_CPUTIME_ID,
];
/** Byte offsets of the fields of a subscription and of an event that `poll_oneoff` reads and writes. */
const SUBSCRIPTION = { bytes: 48, kind: 8, clock: 16, timeout: 24, flags: 40 };
const EVENT = { bytes: 32, kind: 10 };

/** Input and outputs of a command. */
export interface SystemParts {
  readonly argument: string;
  readonly files: CallFiles;
  readonly stdout: Printed;
  readonly stderr: Printed;
}

/** A subscription as the command passes it. */
interface Subscription {
  readonly userdata: bigint;
  readonly kind: number;
  /** Due time by its clock; `null` for a file, which is always ready. */
  readonly dueNs: bigint | null;
  readonly clock: number;
}

/**
 * The functions of WASI preview 1 for one call. Files and folders are the shim's; time and randomness are the call's
 * own, so that a replayed call sees the same values.
 */
export class System {
  readonly #shim: WASI;
  readonly #arguments: readonly Uint8Array[];
  readonly #world: EngineWorld;
  /** Total time slept: no time passes within a turn, so a sleep returns at once and sets its clocks forward instead. */
  #sleptNs = 0n;

  constructor(world: EngineWorld, { argument, files, stdout, stderr }: SystemParts) {
    this.#world = world;
    this.#arguments = ["tool", argument, OUTPUT_PATH].map((text) => encodeUtf8(text.replaceAll("\0", "")));
    const descriptors = [emptyInput(), stdout.stream, stderr.stream, files.root];
    this.#shim = new WASI([], [], descriptors, { debug: false });
  }

  /** Functions that a module may import. */
  get imports(): WebAssembly.Imports {
    const unsupported = (): number => wasi.ERRNO_NOSYS;
    const own = {
      args_sizes_get: (count: number, size: number) => this.#argumentSizes(count, size),
      args_get: (pointers: number, buffer: number) => this.#giveArguments(pointers, buffer),
      clock_res_get: (clock: number, to: number) => this.#resolution(clock, to),
      clock_time_get: (clock: number, _precision: bigint, to: number) => this.#time(clock, to),
      poll_oneoff: (from: number, to: number, count: number, countTo: number) => this.#poll(from, to, count, countTo),
      random_get: (buffer: number, length: number) => this.#random(buffer, length),
      sched_yield: () => wasi.ERRNO_SUCCESS,
      // The shim throws if these are called.
      proc_raise: unsupported,
      sock_accept: unsupported,
      sock_recv: unsupported,
      sock_send: unsupported,
      sock_shutdown: unsupported,
    };
    return { wasi_snapshot_preview1: { ...this.#shim.wasiImport, ...own } };
  }

  /** Runs the command to its end. Returns its exit code; throws the error that ended it. */
  start(exports: { readonly memory: WebAssembly.Memory; readonly _start: () => unknown }): number {
    this.#shim.inst = { exports };
    try {
      exports._start();
      return 0;
    } catch (error) {
      if (error instanceof WASIProcExit) return error.code;
      throw error;
    }
  }

  get #view(): DataView {
    return new DataView(this.#shim.inst.exports.memory.buffer);
  }

  // The shim's own version counts characters instead of bytes.
  #argumentSizes(countTo: number, sizeTo: number): number {
    const view = this.#view;
    view.setUint32(countTo, this.#arguments.length, true);
    view.setUint32(
      sizeTo,
      this.#arguments.reduce((bytes, { length }) => bytes + length + 1, 0),
      true,
    );
    return wasi.ERRNO_SUCCESS;
  }

  #giveArguments(pointers: number, buffer: number): number {
    const view = this.#view;
    const bytes = new Uint8Array(view.buffer);
    let at = buffer;
    for (const [index, argument] of this.#arguments.entries()) {
      view.setUint32(pointers + 4 * index, at, true);
      bytes.set(argument, at);
      view.setUint8(at + argument.length, 0);
      at += argument.length + 1;
    }
    return wasi.ERRNO_SUCCESS;
  }

  #resolution(clock: number, to: number): number {
    if (!CLOCKS.includes(clock)) return wasi.ERRNO_INVAL;
    this.#view.setBigUint64(to, NS_PER_MS, true);
    return wasi.ERRNO_SUCCESS;
  }

  #time(clock: number, to: number): number {
    if (!CLOCKS.includes(clock)) return wasi.ERRNO_INVAL;
    this.#view.setBigUint64(to, this.#nowNs(clock), true);
    return wasi.ERRNO_SUCCESS;
  }

  /** Nanoseconds since the epoch, or since the call began. */
  #nowNs(clock: number): bigint {
    const { nowMs, call } = this.#world.turn;
    const sinceMs = clock === wasi.CLOCKID_REALTIME ? 0 : (call?.originMs ?? nowMs);
    // A number holds the microseconds since the epoch exactly, but not their thousandths.
    return BigInt(Math.round((nowMs - sinceMs) * US_PER_MS)) * NS_PER_US + this.#sleptNs;
  }

  #random(buffer: number, length: number): number {
    const bytes = new Uint8Array(this.#view.buffer, buffer >>> 0, length >>> 0);
    this.#world.turn.call?.entropy.fill(bytes);
    return wasi.ERRNO_SUCCESS;
  }

  /**
   * Files are always ready. If all subscriptions are clocks, the earliest is due at once, and the clocks move to it.
   */
  #poll(from: number, to: number, count: number, countTo: number): number {
    if (count === 0) return wasi.ERRNO_INVAL;
    const view = this.#view;
    const subscriptions: Subscription[] = [];
    for (let index = 0; index < count >>> 0; index++) {
      subscriptions.push(this.#subscription(view, from + SUBSCRIPTION.bytes * index));
    }
    const waits = subscriptions.map(({ dueNs, clock }) => (dueNs === null ? 0n : dueNs - this.#nowNs(clock)));
    const waitNs = waits.reduce((least, wait) => (wait < least ? wait : least));
    if (waitNs > 0n) this.#sleptNs += waitNs;
    let events = 0;
    for (const [index, { userdata, kind }] of subscriptions.entries()) {
      if ((waits[index] ?? 0n) > (waitNs > 0n ? waitNs : 0n)) continue;
      const at = to + EVENT.bytes * events++;
      new Uint8Array(view.buffer, at, EVENT.bytes).fill(0);
      view.setBigUint64(at, userdata, true);
      view.setUint8(at + EVENT.kind, kind);
    }
    view.setUint32(countTo, events, true);
    return wasi.ERRNO_SUCCESS;
  }

  #subscription(view: DataView, at: number): Subscription {
    const userdata = view.getBigUint64(at, true);
    const kind = view.getUint8(at + SUBSCRIPTION.kind);
    const clock = view.getUint32(at + SUBSCRIPTION.clock, true);
    if (kind !== wasi.EVENTTYPE_CLOCK) return { userdata, kind, dueNs: null, clock };
    const timeoutNs = view.getBigUint64(at + SUBSCRIPTION.timeout, true);
    const isAbsolute = (view.getUint16(at + SUBSCRIPTION.flags, true) & 1) !== 0;
    return { userdata, kind, dueNs: isAbsolute ? timeoutNs : this.#nowNs(clock) + timeoutNs, clock };
  }
}
