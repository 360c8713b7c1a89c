import type { Job as BullJob } from "bullmq";
import { type JobData, type JobEnvelope, UNDERSTOOD } from "../fleet/messages.ts";
import type { Payloads } from "../fleet/payloads.ts";
import type { Turn } from "../fleet/turn.ts";
import { isObject } from "../json.ts";

/** What a job of BullMQ brings. Rejects with words for an operator where it cannot be read. */
export async function readJob(job: BullJob, payloads: Payloads): Promise<JobData & { readonly turn: Turn }> {
  const packed = packedOf(job);
  if (packed === null) throw new Error("it is not one of a server of ours");
  const data: unknown = JSON.parse(await payloads.unpack(packed, job.id ?? ""));
  if (!isObject(data) || typeof data["server"] !== "string") throw new Error("it has no server");
  const { v } = data;
  if (typeof v !== "number" || !UNDERSTOOD.includes(v)) {
    throw new Error(
      `it speaks protocol ${String(v).slice(0, 16)}, and this machine understands ${UNDERSTOOD.join(", ")}`,
    );
  }
  for (const list of ["scripts", "limits", "calls"])
    if (!Array.isArray(data[list])) throw new Error(`it has no ${list}`);
  return { ...(data as unknown as JobData), turn: readTurn((job.data as Partial<JobEnvelope>).turn) };
}

/** Where its data is, as `Payloads` has it; `null` where it has none. */
export function packedOf(job: BullJob): string | null {
  const envelope = job.data as Partial<JobEnvelope> | null;
  return isObject(envelope) && typeof envelope.packed === "string" ? envelope.packed : null;
}

function readTurn(turn: unknown): Turn {
  const { tag, level } = isObject(turn) ? turn : {};
  return { tag: Number.isFinite(tag) ? Number(tag) : 0, level: Number.isFinite(level) ? Number(level) : 0 };
}
