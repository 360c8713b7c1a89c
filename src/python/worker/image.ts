import { closeSync, fstatSync, openSync, readFileSync, readSync } from "node:fs";
import { join } from "node:path";

/** V8's heap in addition to an interpreter's own memory, in MiB; the interpreter itself needs about a third of it. */
export const PYTHON_HEAP_MB = 96;

/** The contents of Python's image folder. Parts shared between isolates are in shared memory. */
export interface PythonImage {
  readonly engine: string;
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
    library: readShared(join(folder, "library.zip")),
    lock: text("lock.json"),
    modules: text("modules.json"),
  };
}

export function readSnapshot(folder: string): PythonSnapshot {
  const { headerBytes, runs } = JSON.parse(readFileSync(join(folder, "image.json"), "utf8")) as SnapshotLayout;
  return { bytes: readShared(join(folder, "snapshot.bin")), headerBytes, runs: Int32Array.from(runs) };
}

/** The interpreter's module, without a memory limit, in a separate buffer. */
export function readModule(folder: string): Uint8Array<ArrayBuffer> {
  return readWhole(join(folder, "python.wasm"), (length) => new Uint8Array(length));
}

function readShared(file: string): SharedArrayBuffer {
  return readWhole(file, (length) => new Uint8Array(new SharedArrayBuffer(length))).buffer;
}

/**
 * Reads a file into the array that `make` makes for it. A copy would be garbage of many MiB, and collecting it takes as
 * long as starting an interpreter.
 */
function readWhole<Bytes extends Uint8Array>(file: string, make: (length: number) => Bytes): Bytes {
  const descriptor = openSync(file, "r");
  try {
    const bytes = make(fstatSync(descriptor).size);
    let at = 0;
    for (let read = -1; at < bytes.length && read !== 0; at += read) read = readSync(descriptor, bytes, { offset: at });
    if (at < bytes.length) throw new Error("the file was cut while it was read");
    return bytes;
  } finally {
    closeSync(descriptor);
  }
}
