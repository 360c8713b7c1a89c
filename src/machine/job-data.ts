import type { Job as BullJob } from "bullmq";
import type { JobData } from "../fleet/messages.ts";
import type { Payloads } from "../fleet/payloads.ts";
import { readJobData } from "../fleet/read-job.ts";
import { readTurn, type Turn } from "../fleet/turn.ts";
import { isObject } from "../json.ts";
import { ProtocolError } from "../protocol/wire.ts";

/** What a job of BullMQ brings. Rejects with words for an operator where it cannot be read. */
export async function readJob(
  bull: BullJob,
  payloads: Payloads,
  protocols: readonly number[],
): Promise<JobData & { readonly turn: Turn }> {
  const envelope: unknown = bull.data;
  if (!isObject(envelope) || typeof envelope["packed"] !== "string" || !(bull.attemptsStarted >= 1)) {
    throw new ProtocolError("it is not one of a server of ours");
  }
  const text = await payloads.unpack(envelope["packed"], bull.id ?? "");
  return { ...readJobData(text, protocols), turn: readTurn(envelope["turn"]) };
}
