import { type BinaryRun, binaryExports } from "./binary.ts";
import type { EngineWorld, Factory, RuntimeEngine } from "../../kernel/guest/host.ts";
import { Printed } from "./printed.ts";
import { System } from "./system.ts";

/** Maximum memory of ended calls before a collection, in bytes: V8's heap does not count it. */
const LEFT_MAX_BYTES = 16 * 1024 * 1024;
/** More than any isolate may have: isolated-vm collects garbage before it refuses such an allocation. */
const TOO_MUCH_BYTES = 2 ** 34;

/** A started module; its exports were checked before it came here. */
interface Command {
  readonly memory: WebAssembly.Memory;
  readonly _start: () => unknown;
}

/**
 * Makes the engine of WebAssembly modules, before the prelude removes `WebAssembly`, of which it keeps the only
 * reference.
 */
export function createEngine(): RuntimeEngine {
  const engine = new WasiEngine(WebAssembly, ArrayBuffer);
  // Without this, any object of these classes would lead to its class by `constructor`.
  const { Module, Instance, Memory, Table, Global, Tag, Exception } = WebAssembly;
  for (const each of [Module, Instance, Memory, Table, Global, Tag, Exception, SharedArrayBuffer]) {
    Reflect.deleteProperty(each.prototype, "constructor");
  }
  return { connect: (world) => engine.connect(world), load: (code) => engine.load(code) };
}

class WasiEngine {
  readonly #wasm: typeof WebAssembly;
  readonly #Buffer: ArrayBufferConstructor;
  #world: EngineWorld | null = null;
  #leftBytes = 0;

  constructor(wasm: typeof WebAssembly, Buffer: ArrayBufferConstructor) {
    this.#wasm = wasm;
    this.#Buffer = Buffer;
  }

  connect(world: EngineWorld): void {
    this.#world = world;
  }

  load(code: string | ArrayBuffer): Factory {
    if (typeof code === "string") throw new TypeError("a module is bytes");
    const module = new this.#wasm.Module(code);
    return () => binaryExports((argument) => this.#run(module, argument));
  }

  /** Runs a command in its own instance: its memory and files are new. */
  #run(module: WebAssembly.Module, argument: string): BinaryRun {
    const call = this.#world?.turn.call;
    if (!this.#world || !call) throw new TypeError("a command runs for a call");
    const stdout = new Printed((line) => call.log("log", line));
    const stderr = new Printed((line) => call.log("error", line));
    const system = new System(this.#world, { argument, outputMax: call.outputMax, stdout, stderr });
    const end = this.#start(module, system);
    // At once, not before the next call: an isolate may wait for long, and its memory be of use elsewhere.
    if (this.#leftBytes >= LEFT_MAX_BYTES) this.#collect();
    return { ...end, stdout: stdout.end(), stderr: stderr.end(), output: system.output() };
  }

  #start(module: WebAssembly.Module, system: System): Pick<BinaryRun, "exitCode" | "ended"> {
    let command: Command | null = null;
    try {
      const instance = new this.#wasm.Instance(module, system.imports);
      command = instance.exports as unknown as Command;
      return { exitCode: system.start(command), ended: null };
    } catch (error) {
      return { exitCode: null, ended: this.#describe(error) };
    } finally {
      // The memory of an instance that did not start cannot be measured.
      this.#leftBytes += command?.memory.buffer.byteLength ?? LEFT_MAX_BYTES;
    }
  }

  /** Reason of a failed run. WebAssembly creates no error objects itself, but it may throw its own exceptions. */
  #describe(error: unknown): string {
    if (error instanceof this.#wasm.RuntimeError) return `trapped: ${error.message}`;
    if (error instanceof RangeError && error.message.includes("call stack")) return "trapped: its stack is full";
    if (error instanceof this.#wasm.Exception) return "threw an exception that it did not catch";
    if (error instanceof RangeError) return "trapped: it gave an address that is outside of its memory";
    return "trapped: it asked WASI for what there is not";
  }

  /** Forces a garbage collection: V8 sees only small objects and would let the memory grow to gigabytes. */
  #collect(): void {
    this.#leftBytes = 0;
    try {
      void new this.#Buffer(TOO_MUCH_BYTES);
    } catch {
      // Always refused: the request only triggers the collection.
    }
  }
}
