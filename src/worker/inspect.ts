import type { Failure } from "../protocol/messages.ts";
import type { Inspection, ToolScript } from "../protocol/script.ts";
import { toolError } from "../errors.ts";
import type { Isolates } from "./isolates.ts";
import type { Turns } from "./turns.ts";

/** An inspection: what to look at and how long it may take. */
interface InspectRequest {
  readonly run: number;
  readonly cpuMs: number;
  readonly script: ToolScript;
}

interface Found {
  readonly spec: string;
  readonly defaultExport: string;
}

type Attempt =
  { readonly ok: true; readonly found: Found; readonly ms: number } | { readonly ok: false; readonly failure: Failure };

/** Evaluates a tool's module, in an isolate of its own, to read what it exports and at which level it loads. */
export function inspectScript(request: InspectRequest, isolates: Isolates, turns: Turns): Inspection {
  const hardened = attempt(request, true, isolates, turns);
  if (hardened.ok) return describe(hardened, request.script.isolation);
  if (request.script.isolation === "context" || request.script.isolation === "instance") {
    const open = attempt(request, false, isolates, turns);
    if (open.ok) {
      const reason = request.script.isolation === "context" ? undefined : hardened.failure.message;
      return describe(open, "context", reason);
    }
  }
  const { code, message, type, stack } = hardened.failure;
  return { ok: false, error: toolError(code, message, stack === undefined ? undefined : { stack }, type) };
}

function describe(
  { found, ms }: { found: Found; ms: number },
  isolation: ToolScript["isolation"],
  isolationReason?: string,
): Inspection {
  const inspection = { ok: true, ...found, isolation, evaluationMs: ms } as const;
  return isolationReason === undefined ? inspection : { ...inspection, isolationReason };
}

function attempt(request: InspectRequest, hardened: boolean, isolates: Isolates, turns: Turns): Attempt {
  let scratch: ReturnType<Isolates["scratch"]>;
  try {
    scratch = isolates.scratch(request.script, hardened);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return failure("load_error", `the tool's script cannot be compiled: ${message.slice(0, 1_000)}`);
  }
  const { isolate, realm } = scratch;
  const budget = {
    cpuMs: 0,
    isolate: {
      get dead(): boolean {
        return isolate.isDisposed;
      },
    },
  };
  try {
    const end = turns.enter(request.run, budget, request.cpuMs, (timeoutMs) =>
      realm.inspect(request.run, Date.now(), timeoutMs),
    );
    switch (end.kind) {
      case "done":
        return end.value.startsWith("+")
          ? { ok: true, found: JSON.parse(end.value.slice(1)) as Found, ms: budget.cpuMs }
          : { ok: false, failure: JSON.parse(end.value.slice(1)) as Failure };
      case "cpu":
        return failure("load_error", `the tool's module takes more than ${request.cpuMs} ms to evaluate`);
      case "memory":
        return failure("load_error", `the tool's module needs more than ${request.script.memoryMb} MiB to evaluate`);
      case "uncaught":
        return failure("load_error", `the tool's module leaves a rejection behind: ${end.message}`);
      default:
        return end satisfies never;
    }
  } finally {
    if (!isolate.isDisposed) isolate.dispose();
  }
}

function failure(code: Failure["code"], message: string): Attempt {
  return { ok: false, failure: { code, message } };
}
