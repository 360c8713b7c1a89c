import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { Capability } from "../../../../src/capabilities/capability.ts";
import { createKv } from "../../../../src/capabilities/kv/kv.ts";

export const MIB = 1024 * 1024;

export interface Who {
  readonly tool?: string;
  readonly tenant?: string;
  readonly quotaBytes?: number;
  readonly signal?: AbortSignal;
}

/** Calls a method of `kv` on a call's behalf. */
export type Invoke = (method: string, args?: object) => Promise<unknown>;

/** A store that is closed when the test ends; of a file, where there is one. */
export function openKv(path = ":memory:", maxBytes = 64 * MIB): Capability<number> {
  const kv = createKv({ path, maxBytes });
  onTestFinished(() => kv.close?.());
  return kv;
}

const NEVER = new AbortController().signal;

/** `kv` as a call has it. */
export function callOf(
  kv: Capability<number>,
  { tool = "t", tenant, quotaBytes = MIB, signal = NEVER }: Who = {},
): Invoke {
  const call = {
    callId: "c",
    tool,
    ...(tenant === undefined ? {} : { tenant }),
    signal,
    callTool: () => Promise.reject(new Error("there are no other tools")),
    grantsOf: () => [],
  };
  const open = kv.open(call, [quotaBytes]);
  return async (method, args = {}) => open.invoke(method, args);
}

/** A path in a folder that goes when the test ends. */
export async function temporaryFile(name = "kv.sqlite"): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "glovebox-kv-")));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return join(folder, name);
}
