import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { type CallSummary, readFilter } from "../../../../src/kernel/store/calls/call-record.ts";
import type { CallFilter } from "../../../../src/kernel/store/calls/call-record.ts";
import { type CallDrop, CallStore } from "../../../../src/kernel/store/calls/call-store.ts";
import type { CallsDown, CallsUp } from "../../../../src/kernel/store/calls/outage-report.ts";
import type { CallRoom } from "../../../../src/kernel/store/calls/call-tables.ts";
import type { CallsAddress } from "../../../../src/fleet/kept-calls/redis-kept-calls.ts";
import type { FileSettings } from "../../../../src/kernel/store/calls/thread/messages.ts";
import { pluginStore, sentStore } from "../../../../src/kernel/store/store-factory.ts";
import { fleetStores } from "../../../../src/fleet/server/fleet-stores.ts";
import { DEFAULT_KEYS } from "../../../../src/kernel/store/calls/ledger.ts";

const DAY_MS = 24 * 60 * 60 * 1_000;

export function scratchFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "glovebox-calls-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Where a store is. */
export type StorePlace = (Pick<FileSettings, "path" | "secret"> & Partial<Pick<FileSettings, "keys">>) | CallsAddress;

export interface OpenStore {
  readonly store: CallStore;
  readonly drops: CallDrop[];
  readonly renewals: string[];
  /** What was told of problems. */
  readonly outages: (CallsDown | CallsUp)[];
  /** Ids of calls of others. */
  readonly heard: string[];
  readonly list: (filter?: CallFilter) => Promise<readonly CallSummary[]>;
}

export function openStore({ maxAgeMs, detailAgeMs, maxBytes, ...place }: Partial<CallRoom> & StorePlace): OpenStore {
  const [drops, renewals, heard]: [CallDrop[], string[], string[]] = [[], [], []];
  const outages: (CallsDown | CallsUp)[] = [];
  const room = {
    maxAgeMs: maxAgeMs ?? 7 * DAY_MS,
    detailAgeMs: detailAgeMs ?? DAY_MS,
    maxBytes: maxBytes ?? 64 * 1024 * 1024,
  };
  const at =
    "path" in place ? { keys: DEFAULT_KEYS, ...place } : sentStore(pluginStore("calls", fleetStores.calls, place));
  const store = new CallStore(
    { ...room, ...at },
    {
      onDrop: (drop) => drops.push(drop),
      onRenewed: (reason) => renewals.push(reason),
      onDown: (event) => outages.push(event),
      onUp: (event) => outages.push(event),
      onHeard: ([id]) => heard.push(id),
    },
  );
  onTestFinished(() => store.close());
  const list = async (filter: CallFilter = {}): Promise<readonly CallSummary[]> => {
    const { calls, cursor } = await store.list(readFilter(filter));
    return cursor === null ? calls : [...calls, ...(await list({ ...filter, cursor }))];
  };
  return { store, drops, renewals, outages, heard, list };
}
