import type { Program } from "./programs.ts";
import type { RunProgram } from "./program-runner.ts";

/** Subtests that pass in Node, with what the tool's harness says of each: nothing where it passes there, too. */
export async function compare(
  program: Program,
  inNode: RunProgram,
  inTool: RunProgram,
): Promise<readonly (readonly [subtest: string, failure: string | null])[]> {
  const [reference, run] = [await inNode(program), await inTool(program)];
  const failures = new Map(run.subtests.map(({ name, failure }) => [name, failure]));
  const lost = `no result: ${run.failure ?? "the harness has not run it"}`;
  return reference.subtests.flatMap(({ name, failure }) => {
    if (failure !== null) return [];
    const found = failures.get(name);
    return [[name, found === undefined ? lost : found] as const];
  });
}
