import { GloveboxError } from "../../base/errors.ts";
import { TenantPlaces } from "../../base/tenant-places.ts";
import { builds } from "../build/builds.ts";
import { type JobWords, problemOf } from "../build/problem.ts";
import type { ToolCallPlace } from "./tool-calls.ts";

const DEADLINE_MS = 5_000;
/** Programs of one tenant that wait to be read. */
const WAITING_MAX = 64;
const places = new TenantPlaces({ ofTenant: WAITING_MAX });
const WORDS: JobWords = { verb: "read", participle: "read", remedy: "make it shorter" };

/** A program as a build process has read it. */
export interface BuiltProgram {
  readonly text: string;
  readonly calls: readonly ToolCallPlace[];
}

/**
 * A program's text in the form for the runner. Parsed in a build process, in the turn of its tenant. Rejects with a
 * `GloveboxError`: `invalid_arguments` with `details.problems`, `queue_full`.
 */
export async function buildProgram(code: string, tenant: string): Promise<BuiltProgram> {
  const job = { head: { kind: "program" }, texts: [code] } as const;
  using place = places.take(tenant);
  if (place === null) throw new GloveboxError("queue_full", `${WAITING_MAX} programs wait to be read already`);
  // An own name for each tenant: programs are never the operator's.
  const outcome = await builds.run(job, { registrant: `program:${tenant}`, deadlineMs: DEADLINE_MS });
  if (outcome.kind === "refused") throw new GloveboxError("invalid_arguments", outcome.message, outcome.details);
  const [text, calls] = outcome.kind === "done" ? outcome.texts : [];
  if (text !== undefined && calls !== undefined) {
    return { text, calls: JSON.parse(calls) as readonly ToolCallPlace[] };
  }
  const failed = outcome.kind === "done" ? ({ kind: "unreadable", reason: "no text" } as const) : outcome;
  throw new GloveboxError("invalid_arguments", `The program ${problemOf(failed, WORDS, DEADLINE_MS)}.`);
}
