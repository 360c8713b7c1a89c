import { type ToolError, toolError } from "../errors.ts";
import type { Failure } from "../protocol/messages.ts";
import type { Inspection, ToolScript } from "../protocol/script.ts";

/** A module that is being inspected. */
export interface PendingInspection {
  readonly script: ToolScript;
  attempts: number;
  deadlineMs: number;
  readonly resolve: (inspection: Inspection) => void;
}

/** What ended a call is not what an author has to mend; that the module did it is. */
export function inspectionError({ code, message }: Failure): ToolError {
  if (code === "executor_lost" || code === "engine_closed") return toolError(code, message);
  return toolError("load_error", `the tool's module could not be evaluated: ${message}`);
}
