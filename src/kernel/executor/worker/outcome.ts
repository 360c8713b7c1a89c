import { type ErrorCode, isErrorCode } from "../../base/errors.ts";
import type { Failure } from "../../base/protocol/messages.ts";
import { readViolations } from "../../base/protocol/payload.ts";
import type { ConfigRedactor } from "../../base/redaction/config-redactor.ts";

/**
 * The outcome of a call as its guest writes it, treated as hostile: in an unfrozen realm a tool may have changed the
 * code that writes it, and a line feed in it would start a forged message to the host.
 */
export interface Outcome {
  readonly ok: boolean;
  /** One line of JSON. */
  readonly payload: string;
}

/** The codes with which a call may end by an event inside its realm. */
const GUEST_CODES: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "invalid_output",
  "load_error",
  "memory_limit",
  "output_too_large",
  "tool_error",
]);

/** The worker's own knowledge of a call: in an unfrozen realm, the outcome is no proof of either. */
export interface Known {
  /** Whether the check of the arguments refused them. */
  readonly isRefused: boolean;
  /** Codes with which the host has failed the call's capability calls, or the worker the call. */
  readonly told: ReadonlySet<string>;
}

export const NOTHING_TOLD: ReadonlySet<string> = new Set();

const TEXT_MAX = 10_000;
/** Maximum length of a guest's failure, in characters: message, type and stack, all escaped. */
const FAILURE_MAX = 128 * 1024;

/** Origin of an outcome. The output of an unfrozen realm is parsed again, and failures are redacted. */
interface OutcomeSource {
  readonly isHardened: boolean;
  /** Whether the tool's own schemas may refuse the arguments. */
  readonly isParsing?: boolean;
  /** Whether its realm refuses code that needs `fetch`, without a request to the host. */
  readonly lacksFetch?: boolean;
  readonly redactor: ConfigRedactor | null;
}

export function readOutcome(said: string, outputMax: number, source: OutcomeSource, known: Known): Outcome {
  const { isHardened } = source;
  const payload = said.slice(1);
  // Check lengths first: a huge text takes seconds to parse, and outside a turn the watch could not attribute them.
  if (said.startsWith("-") && payload.length > FAILURE_MAX) return failed(TAMPERED);
  if (said.startsWith("-")) return failed(readFailure(payload, source, known));
  if (said.startsWith("+") && payload.length > outputMax) {
    return failed({ code: "output_too_large", message: `the output has ${payload.length} characters of JSON` });
  }
  if (!said.startsWith("+") || !isOneLine(payload) || (!isHardened && !isJson(payload))) return failed(TAMPERED);
  return { ok: true, payload };
}

/** The same as one text that can be embedded in a message. */
export function cleanOutcome(said: string, outputMax: number, source: OutcomeSource, known: Known): string {
  const { ok, payload } = readOutcome(said, outputMax, source, known);
  return ok && !payload.includes("\t") ? `+${payload}` : `-${ok ? JSON.stringify(TAMPERED) : payload}`;
}

/** Whether a text is one line, as a message's last field must be. */
export function isOneLine(text: string): boolean {
  return !text.includes("\n");
}

const TAMPERED: Failure = { code: "invalid_output", message: "the tool changed what writes its output" };

function failed(failure: Failure): Outcome {
  return { ok: false, payload: JSON.stringify(failure) };
}

function readFailure(payload: string, source: OutcomeSource, known: Known): Failure {
  const { redactor } = source;
  const said = parse(payload);
  if (typeof said !== "object" || said === null) return TAMPERED;
  const { code, message, ...rest } = said as { [key: string]: unknown };
  // Redacted before it is cut: a part of a key would not be found.
  const text = (value: unknown) =>
    typeof value === "string" ? (redactor?.text(value) ?? value).slice(0, TEXT_MAX) : undefined;
  const [type, stack] = [text(rest["type"]), text(rest["stack"])];
  const isKnown = isErrorCode(code) && mayEndWith(code, source, known);
  const violations = isKnown ? readViolations(rest["violations"], (value) => text(value) ?? "") : undefined;
  return {
    code: isKnown ? code : "tool_error",
    message: text(message) ?? "the tool failed without a message",
    ...(type === undefined ? {} : { type }),
    ...(stack === undefined ? {} : { stack }),
    ...(violations === undefined ? {} : { violations }),
  };
}

function mayEndWith(code: ErrorCode, source: OutcomeSource, { isRefused, told }: Known): boolean {
  const { isHardened, isParsing = false, lacksFetch = false } = source;
  if (GUEST_CODES.has(code) || told.has(code)) return true;
  if (code === "invalid_arguments") return isHardened || isParsing || isRefused;
  return code === "capability_denied" && lacksFetch;
}

function isJson(payload: string): boolean {
  return parse(payload) !== undefined;
}

function parse(payload: string): unknown {
  try {
    return JSON.parse(payload);
  } catch {
    return undefined;
  }
}
