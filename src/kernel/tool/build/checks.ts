import { GloveboxError } from "../../base/errors.ts";
import type { JsonSchema } from "../../base/json.ts";
import { NO_CHECKS, type ToolChecks } from "../../base/protocol/script.ts";
import { compileToolChecks } from "../../base/schema/checks.ts";
import { writeSchema } from "../../base/schema/schema-text.ts";
import { type BuildOptions, builds } from "./builds.ts";
import { type JobWords, problemOf } from "./problem.ts";

const DEADLINE_MS = 5_000;
/** Maximum length of a schema's code, in characters, with its wrapper. */
const CODE_MAX = 260 * 1_024;
/**
 * Characters of the operator's schemas that are compiled in place: that takes less time than to start a process, and an
 * engine with a few small tools needs no process.
 */
const IN_PLACE_MAX = 4 * 1_024;
/** Schemas that need no code, as most tools write them. */
const [ANY, ANY_OBJECT] = ["true", '{"type":"object"}'];
const WORDS: JobWords = { verb: "compile", participle: "compiled", remedy: "make them smaller" };

/**
 * Generates the code that checks a tool's arguments and output. Untrusted schemas, and large ones, are compiled in a
 * build process: here they are measured and written as text. Rejects with a `GloveboxError` with `load_error`.
 *
 * `registrant`: see `BuildOptions`.
 */
export async function buildChecks(
  inputSchema: JsonSchema,
  outputSchema: JsonSchema | null,
  registrant: BuildOptions["registrant"],
): Promise<ToolChecks> {
  const input = writeSchema(inputSchema, "inputSchema");
  const output = outputSchema === null ? ANY : writeSchema(outputSchema, "outputSchema");
  if ((input === ANY || input === ANY_OBJECT) && output === ANY) return NO_CHECKS;
  if (registrant === null && input.length + output.length <= IN_PLACE_MAX) {
    return compileToolChecks(inputSchema, outputSchema);
  }
  const job = { head: { kind: "checks" }, texts: [input, output] } as const;
  const outcome = await builds.run(job, { registrant, deadlineMs: DEADLINE_MS });
  if (outcome.kind === "refused") throw new GloveboxError("load_error", outcome.message, outcome.details);
  const isDone = outcome.kind === "done";
  const checks = isDone ? checksOf(outcome.texts) : undefined;
  if (checks !== undefined) return checks;
  const failed = isDone ? ({ kind: "unreadable", reason: "code of another form" } as const) : outcome;
  throw new GloveboxError("load_error", `its schemas ${problemOf(failed, WORDS, DEADLINE_MS)}`);
}

/** A build process's answer, checked by its shape only: it runs in the tool's isolate. */
function checksOf([input, output]: readonly string[]): ToolChecks | undefined {
  if (input === undefined || output === undefined) return undefined;
  return input.length <= CODE_MAX && output.length <= CODE_MAX ? { input, output } : undefined;
}
