import { GloveboxError } from "../../base/errors.ts";
import { builds } from "../build/builds.ts";
import { type JobWords, problemOf } from "../build/problem.ts";

const DEADLINE_MS = 5_000;
/** Programs of one tenant that wait to be read. */
const WAITING_MAX = 64;
const waiting = new Map<string, number>();
const WORDS: JobWords = { verb: "read", participle: "read", remedy: "make it shorter" };

/** A program as a build process has read it. */
export interface BuiltProgram {
  readonly text: string;
  /** Its calls of tools: a list of `ToolCallPlace` as JSON, which is read when a checker needs it. */
  readonly calls: string;
}

/**
 * A program's text as the runner takes it. Parsed in a build process, in the turn of its tenant. Rejects with a
 * `GloveboxError`: `invalid_arguments` with `details.problems`, `queue_full`.
 */
export async function buildProgram(code: string, tenant: string): Promise<BuiltProgram> {
  const job = { head: { kind: "program" }, texts: [code] } as const;
  const before = waiting.get(tenant) ?? 0;
  if (before >= WAITING_MAX) throw new GloveboxError("queue_full", `${before} programs wait to be read already`);
  waiting.set(tenant, before + 1);
  // An own name for each tenant: programs are never the operator's.
  const reading = builds.run(job, { registrant: `program:${tenant}`, deadlineMs: DEADLINE_MS });
  const outcome = await reading.finally(() => leave(tenant));
  if (outcome.kind === "refused") throw new GloveboxError("invalid_arguments", outcome.message, outcome.details);
  const [text, calls] = outcome.kind === "done" ? outcome.texts : [];
  if (text !== undefined && calls !== undefined) return { text, calls };
  const failed = outcome.kind === "done" ? ({ kind: "unreadable", reason: "no text" } as const) : outcome;
  throw new GloveboxError("invalid_arguments", `The program ${problemOf(failed, WORDS, DEADLINE_MS)}.`);
}

function leave(tenant: string): void {
  const left = (waiting.get(tenant) ?? 0) - 1;
  if (left > 0) waiting.set(tenant, left);
  else waiting.delete(tenant);
}
