import ivm from "isolated-vm";
import { limitMemory, PAGE_BYTES } from "../kernel/base/wasm/wasm-memory.ts";
import type { WorkerRuntime } from "../kernel/executor/worker/worker-runtime.ts";

const MIB = 1024 * 1024;
/** Maximum memory left by ended commands, in MiB: see the engine of WebAssembly in `wasi/guest`. */
const LEFT_MB = 16;

/** Commands of WASI, which have their own memory in addition to V8's heap. */
export const runtime: WorkerRuntime = {
  weightMb: (memoryMb) => 2 * memoryMb + LEFT_MB,
  readCode: ({ text, memoryMb }) => {
    // The memory limit is patched into the module's bytes, which are first known here.
    const { buffer } = limitMemory(Buffer.from(text, "base64"), (memoryMb * MIB) / PAGE_BYTES);
    return () => [new ivm.ExternalCopy(buffer.slice(0)).copyInto({ release: true, transferIn: true })];
  },
};
