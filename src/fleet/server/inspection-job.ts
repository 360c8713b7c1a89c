import { isErrorCode, toolError } from "../../kernel/base/errors.ts";
import { LEVELS } from "../gate/scheduler-scripts.ts";
import { type Fields, isText, isTime, readText } from "../wire/fields.ts";
import { isIsolation } from "../wire/read-job.ts";
import { isObject } from "../../kernel/base/json.ts";
import { type Inspection, isPluggedName, type ToolScript } from "../../kernel/base/protocol/script.ts";
import type { Job } from "../../kernel/executor/executor.ts";
import { inspectionError } from "../../kernel/executor/dispatch/inspector.ts";

/** Limits of an inspection in the fleet; the machine enforces its own besides. */
const LIMITS = {
  cpuMs: 2_000,
  wallMs: 15_000,
  queueMs: 30_000,
  outputBytes: 16 * 1024 * 1024,
  logBytes: 0,
  capabilityCalls: 0,
  capabilityBytes: 0,
};

/** The job that inspects a module: a call whose output is the inspection. */
export function inspectionJob(callNumber: number, script: ToolScript, resolve: (inspection: Inspection) => void): Job {
  return {
    callNumber,
    script,
    tenant: "",
    callId: "",
    args: "null",
    limits: LIMITS,
    // Calls without a tenant share one flow; top priority keeps a starting server from waiting behind all of them.
    fleet: { priority: LEVELS },
    waitMs: LIMITS.queueMs,
    stream: false,
    ask: (_, respond) => respond({ kind: "diverged", message: "modules make no capability calls" }),
    onLog: () => undefined,
    settle: ({ outcome }) => {
      if (!outcome.ok) return resolve({ ok: false, error: inspectionError(outcome.failure) });
      const inspection = readInspection(outcome.json);
      resolve(
        inspection ?? {
          ok: false,
          error: toolError("executor_lost", "the worker machine sent no valid inspection of the module"),
        },
      );
    },
  };
}

function readInspection(json: string): Inspection | null {
  try {
    const inspection = readText(json, "an inspection");
    return isObject(inspection) && isInspection(inspection) ? inspection : null;
  } catch {
    return null;
  }
}

function isInspection(found: Fields): found is Fields & Inspection {
  const { ok, error, contract, described, spec, defaultExport, isolation, isolationReason, evaluationMs } = found;
  if (ok === false) return isObject(error) && isErrorCode(error["code"]) && isText(error["message"]);
  const isSaid = isText(described) && isText(spec) && isText(defaultExport) && isTime(evaluationMs);
  const isReasoned = isolationReason === undefined || isText(isolationReason);
  return ok === true && isSaid && isReasoned && isPluggedName(contract) && isIsolation(isolation);
}
