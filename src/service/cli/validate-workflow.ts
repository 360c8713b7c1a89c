import { EXIT } from "./exit.ts";
import { orExit } from "./open-workflow.ts";
import { print, printJson } from "./output.ts";

/** Says whether a workflow's file fits its schema: every place where it does not, one line each. */
export async function validateWorkflow(file: string, json = false): Promise<void> {
  await orExit(async () => {
    const { load_spec, SpecError } = await import("../../ecosystems/strands/index.ts");
    const problems = await load_spec(file).then(
      () => [],
      (error: unknown) => {
        if (error instanceof SpecError) return error.problems;
        throw error;
      },
    );
    if (problems.length > 0) process.exitCode = EXIT.INVALID;
    if (json) return printJson({ valid: problems.length === 0, problems });
    if (problems.length === 0) print(`${file} is valid`);
    for (const { message } of problems) print(`error: ${message}`);
  });
}
