import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { type CallSummary, readFilter } from "../../../src/store/calls/call-record.ts";
import type { CallFilter } from "../../../src/store/calls/call-record.ts";
import { type CallDrop, CallStore } from "../../../src/store/calls/call-store.ts";
import type { CallRoom } from "../../../src/store/calls/call-tables.ts";
import type { FileSettings, RedisSettings } from "../../../src/store/calls/thread/messages.ts";
import { DEFAULT_KEYS } from "../../../src/store/calls/ledger.ts";

const DAY_MS = 24 * 60 * 60 * 1_000;

export function scratchFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "glovebox-calls-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Where a store is. */
export type StorePlace =
  (Pick<FileSettings, "path"> & Partial<Pick<FileSettings, "keys">>) | Omit<RedisSettings, keyof CallRoom>;

export interface OpenStore {
  readonly store: CallStore;
  readonly drops: CallDrop[];
  readonly renewals: string[];
  /** Ids of calls of others. */
  readonly heard: string[];
  readonly list: (filter?: CallFilter) => Promise<readonly CallSummary[]>;
}

export function openStore(settings: Partial<CallRoom> & StorePlace): OpenStore {
  const [drops, renewals, heard]: [CallDrop[], string[], string[]] = [[], [], []];
  const room = {
    maxAgeMs: 7 * DAY_MS,
    detailAgeMs: DAY_MS,
    maxBytes: 64 * 1024 * 1024,
    keys: DEFAULT_KEYS,
    ...settings,
  };
  const store = new CallStore(room, {
    onDrop: (drop) => drops.push(drop),
    onRenewed: (reason) => renewals.push(reason),
    onHeard: ([id]) => heard.push(id),
  });
  onTestFinished(() => store.close());
  const list = async (filter: CallFilter = {}): Promise<readonly CallSummary[]> => {
    const { calls, cursor } = await store.list(readFilter(filter));
    return cursor === null ? calls : [...calls, ...(await list({ ...filter, cursor }))];
  };
  return { store, drops, renewals, heard, list };
}
