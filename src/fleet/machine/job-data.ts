import type { Job as BullJob } from "bullmq";
import type { JobData } from "../wire/messages.ts";
import type { Payloads } from "../wire/payloads.ts";
import { readJobData } from "../wire/read-job.ts";
import { readTurn, type Turn } from "../gate/turn.ts";
import { isObject } from "../../base/json.ts";
import { ProtocolError } from "../../base/protocol/wire.ts";

/** What a job of BullMQ brings. Rejects with words for an operator where it cannot be read. */
export async function readJob(
  bull: BullJob,
  payloads: Payloads,
  protocols: readonly number[],
): Promise<JobData & { readonly turn: Turn }> {
  const packed = packedOf(bull);
  if (packed === null || !(bull.attemptsStarted >= 1)) throw new ProtocolError("it is not one of a server of ours");
  const text = await payloads.unpack(packed, bull.id ?? "");
  return { ...readJobData(text, protocols), turn: readTurn((bull.data as { readonly turn?: unknown }).turn) };
}

/** Where its data is, as `Payloads` has it; `null` where it has none. */
export function packedOf({ data }: Pick<BullJob, "data">): string | null {
  const envelope: unknown = data;
  return isObject(envelope) && typeof envelope["packed"] === "string" ? envelope["packed"] : null;
}
