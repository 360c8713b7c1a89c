import { readFileSync } from "node:fs";
import { join } from "node:path";

/** V8's heap beside an interpreter's own memory, in MiB; the interpreter itself needs about a third of it. */
export const PYTHON_HEAP_MB = 96;

/** The contents of Python's image folder. Parts shared between isolates are in shared memory. */
export interface PythonImage {
  readonly engine: string;
  /** The interpreter's module, without a memory limit. */
  readonly wasm: Uint8Array;
  readonly library: SharedArrayBuffer;
  readonly lock: string;
  /** The modules imported into the snapshot, as JSON. */
  readonly modules: string;
}

export interface PythonSnapshot {
  readonly bytes: SharedArrayBuffer;
  readonly headerBytes: number;
  readonly runs: Int32Array;
}

/** The contents of `image.json`, which is written last. */
export interface SnapshotLayout {
  readonly headerBytes: number;
  readonly runs: readonly number[];
}

export function readImage(folder: string): PythonImage {
  const text = (name: string): string => readFileSync(join(folder, name), "utf8");
  return {
    engine: text("engine.js"),
    wasm: readFileSync(join(folder, "python.wasm")),
    library: shared(readFileSync(join(folder, "library.zip"))),
    lock: text("lock.json"),
    modules: text("modules.json"),
  };
}

export function readSnapshot(folder: string): PythonSnapshot {
  const { headerBytes, runs } = JSON.parse(readFileSync(join(folder, "image.json"), "utf8")) as SnapshotLayout;
  return { bytes: shared(readFileSync(join(folder, "snapshot.bin"))), headerBytes, runs: Int32Array.from(runs) };
}

function shared(bytes: Uint8Array): SharedArrayBuffer {
  const buffer = new SharedArrayBuffer(bytes.length);
  new Uint8Array(buffer).set(bytes);
  return buffer;
}
