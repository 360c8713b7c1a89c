import type { EngineWorld } from "../../kernel/guest/host.ts";
import { encodeUtf8 } from "../../kernel/guest/web/utf8.ts";
import { CLOCK, ERRNO, type Errno, EVENTTYPE_CLOCK, WasiError } from "./abi.ts";
import { DescriptorFunctions } from "./descriptor-functions.ts";
import { Descriptors, OpenStream } from "./descriptors.ts";
import { CallFiles, OUTPUT_PATH } from "./files.ts";
import { Memory } from "./memory.ts";
import { PathFunctions } from "./path-functions.ts";
import type { Printed } from "./printed.ts";

const NS_PER_MS = 1_000_000n;
const US_PER_MS = 1_000;
const NS_PER_US = 1_000n;
const CLOCKS: readonly number[] = Object.values(CLOCK);
/** Byte offsets of the fields of a subscription and of an event that `poll_oneoff` reads and writes. */
const SUBSCRIPTION = { bytes: 48, kind: 8, clock: 16, timeout: 24, flags: 40 };
const EVENT = { bytes: 32, kind: 10 };

/** Input and outputs of a command. */
export interface SystemParts {
  readonly argument: string;
  /** Maximum size of the output, in bytes. */
  readonly outputMax: number;
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

/** The end of a command by `proc_exit`. */
class ProcessExit extends Error {
  readonly exitCode: number;

  constructor(exitCode: number) {
    super(`exit code ${exitCode}`);
    this.exitCode = exitCode;
  }
}

/** A function of WASI. One that fails throws a `WasiError`. */
type WasiFunction = (...values: never[]) => void;

/**
 * The functions of WASI preview 1 for one call. Time and randomness are the call's own, so that a replayed call sees
 * the same values.
 */
export class System {
  readonly #arguments: readonly Uint8Array[];
  readonly #world: EngineWorld;
  readonly #files: CallFiles;
  readonly #descriptors: Descriptors;
  readonly #memory: Memory;
  #started: { readonly memory: WebAssembly.Memory } | null = null;
  /** Total time slept: no time passes within a turn, so a sleep returns at once and sets its clocks forward instead. */
  #sleptNs = 0n;

  constructor(world: EngineWorld, { argument, outputMax, stdout, stderr }: SystemParts) {
    this.#world = world;
    this.#arguments = ["tool", argument, OUTPUT_PATH].map((text) => encodeUtf8(text.replaceAll("\0", "")));
    this.#files = new CallFiles(outputMax, () => this.#nowNs(CLOCK.realtime));
    this.#descriptors = new Descriptors([
      this.#files.openInput(),
      new OpenStream((bytes) => stdout.write(bytes)),
      new OpenStream((bytes) => stderr.write(bytes)),
      this.#files.openRoot(),
    ]);
    this.#memory = new Memory(() => {
      // The start function of a module runs before there are exports.
      if (this.#started === null) throw new TypeError("the module has not started");
      return this.#started.memory.buffer;
    });
  }

  /** Functions that a module may import. */
  get imports(): WebAssembly.Imports {
    const parts = { memory: this.#memory, descriptors: this.#descriptors, files: this.#files };
    const all: readonly (readonly [name: string, call: WasiFunction])[] = [
      ...Object.entries(this.#own),
      ...Object.entries(new DescriptorFunctions(parts).functions),
      ...Object.entries(new PathFunctions(parts).functions),
    ];
    return { wasi_snapshot_preview1: Object.fromEntries(all.map(([name, call]) => [name, answering(call)])) };
  }

  get #own() {
    return {
      args_sizes_get: (countTo: number, sizeTo: number) => this.#argumentSizes(countTo, sizeTo),
      args_get: (pointers: number, buffer: number) => this.#giveArguments(pointers, buffer),
      environ_sizes_get: (countTo: number, sizeTo: number) => this.#environmentSizes(countTo, sizeTo),
      environ_get: () => undefined,
      clock_res_get: (clock: number, to: number) => this.#resolution(clock, to),
      clock_time_get: (clock: number, _precision: bigint, to: number) => this.#time(clock, to),
      poll_oneoff: (from: number, to: number, count: number, countTo: number) => this.#poll(from, to, count, countTo),
      proc_exit: exit,
      proc_raise: () => refuse(ERRNO.nosys),
      random_get: (buffer: number, length: number) => this.#random(buffer, length),
      sched_yield: () => undefined,
      sock_accept: (fd: number) => this.#refuseSocket(fd),
      sock_recv: (fd: number) => this.#refuseSocket(fd),
      sock_send: (fd: number) => this.#refuseSocket(fd),
      sock_shutdown: (fd: number) => this.#refuseSocket(fd),
    };
  }

  /** Runs the command to its end. Returns its exit code; throws the error that ended it. */
  start(exports: { readonly memory: WebAssembly.Memory; readonly _start: () => unknown }): number {
    this.#started = exports;
    try {
      exports._start();
      return 0;
    } catch (error) {
      if (error instanceof ProcessExit) return error.exitCode;
      throw error;
    }
  }

  /** The command's output; `null` if it wrote none. */
  output(): string | null {
    return this.#files.output();
  }

  #argumentSizes(countTo: number, sizeTo: number): void {
    this.#memory.setU32(countTo, this.#arguments.length);
    this.#memory.setU32(
      sizeTo,
      this.#arguments.reduce((bytes, { length }) => bytes + length + 1, 0),
    );
  }

  #giveArguments(pointers: number, buffer: number): void {
    let at = buffer;
    for (const [index, argument] of this.#arguments.entries()) {
      this.#memory.setU32(pointers + 4 * index, at);
      const bytes = this.#memory.bytes(at, argument.length + 1);
      bytes.set(argument);
      bytes[argument.length] = 0;
      at += bytes.length;
    }
  }

  /** A command has no environment. */
  #environmentSizes(countTo: number, sizeTo: number): void {
    this.#memory.setU32(countTo, 0);
    this.#memory.setU32(sizeTo, 0);
  }

  /** There are no sockets. */
  #refuseSocket(fd: number): void {
    this.#descriptors.get(fd);
    refuse(ERRNO.notsock);
  }

  #resolution(clock: number, to: number): void {
    if (!CLOCKS.includes(clock)) refuse(ERRNO.inval);
    this.#memory.setU64(to, NS_PER_MS);
  }

  #time(clock: number, to: number): void {
    if (!CLOCKS.includes(clock)) refuse(ERRNO.inval);
    this.#memory.setU64(to, this.#nowNs(clock));
  }

  /** Nanoseconds since the epoch, or since the call began. */
  #nowNs(clock: number): bigint {
    const { nowMs, call } = this.#world.turn;
    const sinceMs = clock === CLOCK.realtime ? 0 : (call?.originMs ?? nowMs);
    // A number holds the microseconds since the epoch exactly, but not their thousandths.
    return BigInt(Math.round((nowMs - sinceMs) * US_PER_MS)) * NS_PER_US + this.#sleptNs;
  }

  #random(buffer: number, length: number): void {
    this.#world.turn.call?.entropy.fill(this.#memory.bytes(buffer, length));
  }

  /**
   * Files are always ready. If all subscriptions are clocks, the earliest is due at once, and the clocks move to it.
   */
  #poll(from: number, to: number, count: number, countTo: number): void {
    if (count === 0) refuse(ERRNO.inval);
    const { view } = this.#memory;
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
  }

  #subscription(view: DataView, at: number): Subscription {
    const userdata = view.getBigUint64(at, true);
    const kind = view.getUint8(at + SUBSCRIPTION.kind);
    const clock = view.getUint32(at + SUBSCRIPTION.clock, true);
    if (kind !== EVENTTYPE_CLOCK) return { userdata, kind, dueNs: null, clock };
    const timeoutNs = view.getBigUint64(at + SUBSCRIPTION.timeout, true);
    const isAbsolute = (view.getUint16(at + SUBSCRIPTION.flags, true) & 1) !== 0;
    return { userdata, kind, dueNs: isAbsolute ? timeoutNs : this.#nowNs(clock) + timeoutNs, clock };
  }
}

/** A function as a module imports it: it returns an error number. */
function answering(call: WasiFunction): (...values: unknown[]) => number {
  return (...values) => {
    try {
      call(...(values as never[]));
      return ERRNO.success;
    } catch (error) {
      if (error instanceof WasiError) return error.errno;
      throw error;
    }
  };
}

function refuse(errno: Errno): never {
  throw new WasiError(errno);
}

function exit(exitCode: number): never {
  throw new ProcessExit(exitCode);
}
