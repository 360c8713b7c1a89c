import type { Failure } from "../../base/protocol/messages.ts";
import { type Inspection, isPluggedName, type ToolScript } from "../../base/protocol/script.ts";
import { toolError } from "../../base/errors.ts";
import { explained, saysAbsent } from "../../guest/host.ts";
import { configRedactorOf } from "../../base/redaction/config-redactor.ts";
import type { Isolates } from "./isolates.ts";
import { needOfOpenRealm } from "./open-realm.ts";
import { NOTHING_TOLD, type Outcome, readOutcome } from "./outcome.ts";
import { disposeOf, type PreparedIsolate } from "./prepared-isolate.ts";
import type { GuestRealm } from "./guest-realm.ts";
import type { TurnEnd, Turns } from "./turns.ts";

/** Maximum length of a module's description, in characters, mostly its spec. */
const FOUND_MAX = 8 * 1024 * 1024;

/** Maximum time to start an interpreter on a busy machine, in milliseconds; not counted as the tool's work. */
const START_MS = 10_000;

/** The script to inspect and its CPU limit. */
interface InspectRequest {
  readonly callNumber: number;
  readonly cpuMs: number;
  readonly script: ToolScript;
}

type ModuleFacts = Pick<Extract<Inspection, { ok: true }>, "contract" | "described" | "spec" | "defaultExport">;

type InspectBudget = Parameters<Turns["enter"]>[1];

type Attempt =
  | { readonly ok: true; readonly found: ModuleFacts; readonly ms: number }
  /** `isLimit`: the attempt would fail the same way in any realm. */
  | { readonly ok: false; readonly failure: Failure; readonly isLimit: boolean };

/** Evaluates a tool's module in its own isolate, to read its exports and the isolation level at which it loads. */
export function inspectScript(request: InspectRequest, isolates: Isolates, turns: Turns): Inspection {
  const { isolation, text } = request.script;
  const need = isolation === "instance" ? needOfOpenRealm(text) : undefined;
  const hardened = need === undefined ? attempt(request, true, isolates, turns) : failure("load_error", need);
  if (hardened.ok) return describe(hardened, isolation);
  const isOpened = !hardened.isLimit && (isolation === "context" || isolation === "instance");
  const open = isOpened ? attempt(request, false, isolates, turns) : hardened;
  if (open.ok) return describe(open, "context", isolation === "context" ? undefined : hardened.failure.message);
  // The open realm has allowed what the frozen one refused: the author has to correct the error of the open one.
  const { code, message, type, stack } = open.failure;
  return { ok: false, error: toolError(code, explained(message), stack === undefined ? undefined : { stack }, type) };
}

function describe(
  { found, ms }: { found: ModuleFacts; ms: number },
  isolation: ToolScript["isolation"],
  isolationReason?: string,
): Inspection {
  const inspection = { ok: true, ...found, isolation, evaluationMs: ms } as const;
  return isolationReason === undefined ? inspection : { ...inspection, isolationReason };
}

function attempt(request: InspectRequest, hardened: boolean, isolates: Isolates, turns: Turns): Attempt {
  let scratch: PreparedIsolate;
  const redactor = configRedactorOf(request.script);
  const loadMs = request.script.isInterpreted === true ? START_MS : request.cpuMs;
  try {
    scratch = turns.around(request.callNumber, loadMs, () => isolates.scratch(request.script, hardened));
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    const message = redactor?.text(problem) ?? problem;
    return failure("load_error", `the tool's script cannot be compiled: ${message.slice(0, 1_000)}`);
  }
  const { isolate, realm } = scratch;
  let isKept = false;
  const budget = {
    cpuMs: 0,
    realm,
    isolate: {
      number: scratch.number,
      isShed: false,
      get dead(): boolean {
        return isolate.isDisposed;
      },
    },
  };
  try {
    const end = evaluate(request, budget, realm, turns);
    switch (end.kind) {
      case "done": {
        const found = readFound(
          readOutcome(end.value, FOUND_MAX, { isHardened: false, redactor }, { isRefused: false, told: NOTHING_TOLD }),
          budget.cpuMs,
        );
        isKept = found.ok && hardened;
        return found;
      }
      case "cpu":
        return failure("load_error", `the tool's module takes more than ${request.cpuMs} ms to evaluate`, true);
      case "memory":
        return failure(
          "load_error",
          `the tool's module needs more than ${request.script.memoryMb} MiB to evaluate`,
          true,
        );
      case "shed":
      case "lost":
        return failure("load_error", "the isolate of the tool's module was ended");
      case "uncaught":
        return failure(
          "load_error",
          `the tool's module leaves a rejection behind: ${redactor?.text(end.message) ?? end.message}`,
        );
      default:
        return end satisfies never;
    }
  } finally {
    if (isKept) isolates.keep(request.script, scratch);
    else disposeOf(isolate);
  }
}

/**
 * Describes a module that waits for its own promises in a second turn, once they are settled. The same for one with an
 * unhandled rejection about a feature that isolates lack: undici compiles WebAssembly when it is loaded, and may never
 * need it. Each call's log says so as well.
 */
function evaluate(
  { callNumber, cpuMs }: InspectRequest,
  budget: InspectBudget,
  realm: GuestRealm,
  turns: Turns,
): TurnEnd {
  const end = turns.enter(callNumber, budget, cpuMs, (timeoutMs) => realm.inspect(callNumber, Date.now(), timeoutMs));
  const isRefused = end.kind === "uncaught" && saysAbsent(end.message);
  if (!isRefused && (end.kind !== "done" || end.value !== "")) return end;
  const later = turns.enter(callNumber, budget, cpuMs, (timeoutMs) => realm.recover(timeoutMs));
  return later.kind === "done" && later.value === "" ? { kind: "done", value: WAITS } : later;
}

const WAITS = `-${JSON.stringify({
  code: "load_error",
  message:
    "the tool's module waits for something when it is loaded; timers and the host are there for calls only, so do it in the call",
})}`;

/** Reads the guest's description. In an unfrozen realm the module may have changed the code that writes it. */
function readFound({ ok, payload }: Outcome, ms: number): Attempt {
  if (!ok) return { ok: false, failure: JSON.parse(payload) as Failure, isLimit: false };
  const found = JSON.parse(payload) as Partial<ModuleFacts> | null;
  const { contract, described, spec, defaultExport } = found ?? {};
  if (
    isPluggedName(contract) &&
    typeof described === "string" &&
    typeof spec === "string" &&
    typeof defaultExport === "string"
  ) {
    try {
      JSON.parse(spec);
      JSON.parse(described);
      return { ok: true, found: { contract, described, spec, defaultExport }, ms };
    } catch {
      // Invalid JSON counts as missing.
    }
  }
  return failure("load_error", "the tool's module changed what describes it");
}

function failure(code: Failure["code"], message: string, isLimit = false): Attempt {
  return { ok: false, failure: { code, message }, isLimit };
}
