import type { ToolResult } from "../../base/result.ts";
import type { Decision, DurableCall } from "../../store/calls/durable/durable-call.ts";
import type { OwnWaits } from "../../tool/contracts/runner.ts";
import { type DurableCalls, WAIT_MAX_MS } from "../durable/durable-calls.ts";

/** Maximum callers that wait for the ends of calls; further ones get the present state of their call at once. */
const WAITING_MAX = 1_000;
let waiting = 0;

/** The owner of calls. */
interface CallOwner {
  /** Name of the key with which they are made; `null` if they are made without one. */
  readonly key: string | null;
  /** Absent: of all tenants. */
  readonly tenant?: string | undefined;
  readonly tools?: readonly string[] | undefined;
}

/** Waiting calls of one caller. `mayDecide`: whether its key may decide, if a rule lets callers decide themselves. */
export function ownWaits(
  calls: DurableCalls,
  { key, tenant, tools }: CallOwner,
  { identity, mayDecide }: Pick<OwnWaits, "identity" | "mayDecide">,
): OwnWaits {
  const whose = { tenant, tools };
  const get = async (id: string): Promise<DurableCall | undefined> => {
    const call = await calls.get(id, whose);
    return call?.key === key ? call : undefined;
  };
  return {
    identity,
    mayDecide,
    get,
    decide: async (id: string, decision: Decision) =>
      (await get(id)) === undefined ? undefined : calls.decide(id, decision, { ...whose, key }),
    result: async (id, { waitMs, signal }): Promise<ToolResult | undefined> => {
      if ((await get(id)) === undefined) return undefined;
      const isFull = waiting >= WAITING_MAX;
      waiting++;
      try {
        const most = isFull ? 0 : Math.min(waitMs, WAIT_MAX_MS);
        return await calls.result(id, whose, signal === undefined ? { waitMs: most } : { waitMs: most, signal });
      } finally {
        waiting--;
      }
    },
  };
}
