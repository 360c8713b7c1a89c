import { closeSync, openSync, rmSync, statSync, writeFileSync, writeSync } from "node:fs";
import { CallStore } from "../../../../src/kernel/store/calls/call-store.ts";
import { DEFAULT_KEYS } from "../../../../src/kernel/store/calls/ledger.ts";
import { rowOf } from "./kept-row.ts";

const ROOM = { maxAgeMs: 1e12, detailAgeMs: 1e12, maxBytes: 64 * 1024 * 1024, keys: DEFAULT_KEYS };
const TEXT = JSON.stringify("x".repeat(50_000));

/** A store for a program that harms it. `keep` keeps so many calls `c0`, `c1` … with 50 kB each. */
export function openStoreAt(path: string, from = 0) {
  const told = new Set<string>();
  const store = new CallStore(
    { ...ROOM, path },
    {
      onDrop: ({ reason }) => told.add(reason),
      onRenewed: (reason) => told.add(`renewed: ${reason}`),
      onDown: () => undefined,
      onUp: () => undefined,
      onHeard: () => undefined,
    },
  );
  let next = from;
  const keep = (count: number): void => {
    for (let more = count; more > 0; more--) store.keep(rowOf({ id: `c${next++}` }, { output: TEXT }), TEXT.length);
  };
  return { store, keep, told };
}

/** Waits until something is so, at most 20 seconds; returns whether it is. */
export async function until(isSo: () => boolean): Promise<boolean> {
  for (let round = 0; round < 800 && !isSo(); round++) await new Promise((resolve) => setTimeout(resolve, 25));
  return isSo();
}

/** Takes what is left of a disk; answers what gives it back. */
export function fillDisk(ballast: string): () => void {
  for (let size = 1 << 20; size >= 512; size /= 2) {
    try {
      for (;;) writeFileSync(ballast, Buffer.alloc(size), { flag: "a" });
    } catch {
      // Less is left.
    }
  }
  return () => rmSync(ballast);
}

/** Writes over all pages of a file but the first, with its size as it was. */
export function overwritePages(path: string): void {
  const file = openSync(path, "r+");
  const noise = Buffer.alloc(4_096, 0xa5);
  for (let at = 4_096; at < statSync(path).size; at += 4_096) writeSync(file, noise, 0, 4_096, at);
  closeSync(file);
}
