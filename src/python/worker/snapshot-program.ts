import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import ivm from "isolated-vm";
import { readImage, readModule, type SnapshotLayout } from "./image.ts";
import { compileModule, shareModule, startInterpreter, takeSnapshot } from "./interpreter.ts";

/**
 * Starts Python once and writes a snapshot of its memory: interpreters load it instead of initializing for a second.
 * Runs as its own process; its argument is the folder of the new image.
 */

const PAGE = 4_096;
const EMPTY = Buffer.alloc(PAGE);

const folder = process.argv[2] ?? "";
const image = readImage(folder);
const keeper = new ivm.Isolate({ memoryLimit: 64 });
const context = keeper.createContextSync();
using module = released(shareModule(context, compileModule(context, readModule(folder))));
const prelude = readFileSync(join(folder, "prelude.js"), "utf8");
const parts = { image, module: module.copy, snapshot: null, prelude, preludeCode: undefined, engineCode: undefined };
const started = startInterpreter(parts, { emit: new ivm.Callback(() => 0), pure: new ivm.Callback(() => "") });
const snapshot = Buffer.from(takeSnapshot(started));
started.isolate.dispose();
keeper.dispose();

/** The second number in the header. */
const headerBytes = snapshot.readUInt32LE(4);
const memory = snapshot.subarray(headerBytes);
const runs = filledRuns(memory);
const filled = runs.map(([at, length]) => memory.subarray(at, at + length));
writeFileSync(join(folder, "snapshot.bin"), Buffer.concat([snapshot.subarray(0, headerBytes), ...filled]));
const layout: SnapshotLayout = { headerBytes, runs: runs.flat() };
writeFileSync(join(folder, "image.json"), JSON.stringify(layout));

/** The non-empty ranges, in whole pages. */
function filledRuns(bytes: Buffer): [at: number, length: number][] {
  const found: [number, number][] = [];
  for (let at = 0; at < bytes.length; at += PAGE) {
    const page = bytes.subarray(at, at + PAGE);
    if (page.equals(EMPTY.subarray(0, page.length))) continue;
    const last = found.at(-1);
    if (last !== undefined && last[0] + last[1] === at) last[1] += page.length;
    else found.push([at, page.length]);
  }
  return found;
}

function released<Value>(copy: ivm.ExternalCopy<Value>): Disposable & { readonly copy: ivm.ExternalCopy<Value> } {
  return { copy, [Symbol.dispose]: () => copy.release() };
}
