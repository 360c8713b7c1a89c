import type { ChangedCall, LoadedCall } from "../../kernel/store/calls/sealed/private-tables.ts";
import type { SealedCalls, SealedHead, SealedParts } from "../../kernel/store/calls/sealed/sealed-calls.ts";

/** A call in the form of Redis, with the version that its next writer must find; empty if the call does not exist. */
export interface StoredCall extends SealedParts {
  /** Versions that it had before. */
  readonly past: string;
  readonly n: number;
  /** Number of its child calls that have not ended. */
  readonly made: number;
  readonly seenMs: number;
}

/** A call of Redis whose seals were opened. */
export interface OpenedCall extends LoadedCall {
  readonly head: SealedHead;
}

/** Throws a `SealError` if a part differs from the stored one. */
export function openStored(calls: SealedCalls, stored: StoredCall): OpenedCall {
  const { id, n, seenMs } = stored;
  return { id, n, seenMs, ...calls.open(stored) };
}

/** Arguments of the script that writes a call: its indexes as JSON, its sealed parts, empty for those that stay, and its note. */
export function putArgs(
  calls: SealedCalls,
  changed: ChangedCall,
  version: string,
  before: SealedHead | undefined,
): readonly string[] {
  const { head, body, run, note } = calls.close(changed, version, before);
  return ["put", changed.row.id, JSON.stringify(indexOf(calls, changed.row)), head, body ?? "", run ?? "", note];
}

/** Entries of a call in the sets: they decide nothing. */
function indexOf(calls: SealedCalls, row: ChangedCall["row"]): object {
  const { state, tenant, tool, holder, parent, script } = row;
  const isWaiting = state === "paused" || state === "in_doubt";
  return {
    state,
    tenant: calls.digest("tenant", tenant),
    tool: calls.digest("tool", tool),
    bytes: row.bytes,
    updated: row.updated_ms,
    ends: row.ends_ms,
    ...(isWaiting && row.wake_ms !== null ? { wake: row.wake_ms } : {}),
    ...(row.approval_ms === null ? {} : { approval: row.approval_ms }),
    ...(state === "running" && holder !== null ? { holder } : {}),
    ...(parent === null ? {} : { parent }),
    ...(script === null ? {} : { script: calls.digest("script", script) }),
  };
}
