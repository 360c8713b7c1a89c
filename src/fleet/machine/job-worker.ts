import { type Job as BullJob, type JobJson, Worker } from "bullmq";
import { readText } from "../wire/fields.ts";
import type { JobData } from "../wire/messages.ts";
import type { Payloads } from "../wire/payloads.ts";
import { readJobData } from "../wire/read-job.ts";
import { readJobTurn, type JobTurn } from "../gate/turn.ts";
import { isObject } from "../../kernel/base/json.ts";
import { ProtocolError } from "../../kernel/base/protocol/wire.ts";

/** Maximum length of a job's data, in characters: servers put longer data under a side key. */
const DATA_MAX = 512 * 1024;

/**
 * BullMQ's worker, restricted to the fields that our servers write. Any writer to Redis could add a repeat schedule, a
 * parent that BullMQ would follow, or oversized data.
 */
export class JobWorker extends Worker {
  /** The next job, if one waits. The worker does not remember rate limits that others set on the queue. */
  pull(token: string): Promise<BullJob | undefined> {
    return this.moveToActive(token, this.opts.name);
  }

  protected override createJob({ attemptsStarted, timestamp, stalledCounter, data }: JobJson, id: string): BullJob {
    const ours = { id, name: "calls", opts: {}, progress: 0, attemptsMade: 0, failedReason: "", returnvalue: "" };
    const job = super.createJob({ ...ours, attemptsStarted, timestamp, stalledCounter, data: "null" }, id);
    job.data = readData(data);
    return job;
  }
}

/** `null` if the data is not a server's: then the job is dropped. */
function readData(data: string): unknown {
  if (data.length > DATA_MAX) return null;
  try {
    return readText(data, "a job");
  } catch {
    return null;
  }
}

/** Reads the data of a BullMQ job. Rejects with a `ProtocolError` for an operator. */
export async function readJob(
  bull: BullJob,
  payloads: Payloads,
  protocols: readonly number[],
): Promise<JobData & { readonly turn: JobTurn }> {
  const packed = packedOf(bull);
  if (packed === null || !(bull.attemptsStarted >= 1))
    throw new ProtocolError("it was not written by a server of this fleet");
  const text = await payloads.unpack(packed, bull.id ?? "");
  return { ...readJobData(text, protocols), turn: readJobTurn((bull.data as { readonly turn?: unknown }).turn) };
}

/** The packed payload of a job, for `Payloads`; `null` if it has none. */
export function packedOf({ data }: Pick<BullJob, "data">): string | null {
  const envelope: unknown = data;
  return isObject(envelope) && typeof envelope["packed"] === "string" ? envelope["packed"] : null;
}
