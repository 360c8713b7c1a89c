import { EXIT } from "./exit.ts";
import type { Sources } from "./open-engine.ts";
import { openWorkflow, orExit } from "./open-workflow.ts";
import { print, printJson } from "./output.ts";

/** What of a workflow can be run, and what to do about the rest. */
export async function explainWorkflow(file: string, json: boolean, sources: Sources): Promise<void> {
  await orExit(async () => {
    const { remediationReport } = await import("../../ecosystems/strands/index.ts");
    await using opened = await openWorkflow(file, sources);
    const { spec, report } = opened;
    if (!report.supported) process.exitCode = EXIT.UNSUPPORTED;
    if (json) printJson(report);
    else print(remediationReport(spec.name, report).trimEnd());
  });
}
