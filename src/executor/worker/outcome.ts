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

/** The codes with which a call may end inside its realm, besides that of arguments that its check refused. */
const GUEST_CODES: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "cancelled",
  "capability_denied",
  "capability_failed",
  "capability_limit",
  "cpu_limit",
  "input_too_large",
  "invalid_output",
  "load_error",
  "login_required",
  "memory_limit",
  "output_too_large",
  "tool_error",
]);

const TEXT_MAX = 10_000;
/** Maximum length of a guest's failure, in characters: message, type and stack, all escaped. */
const FAILURE_MAX = 128 * 1024;

/** Where an outcome was written. The output of an unfrozen realm is parsed again, and failures are redacted. */
interface OutcomeSource {
  readonly isHardened: boolean;
  /** Whether the tool's own schemas may refuse the arguments. */
  readonly isParsing?: boolean;
  readonly redactor: ConfigRedactor | null;
}

/** `isRefused`: whether the check of the arguments refused them. In an unfrozen realm the outcome is no proof of it. */
export function readOutcome(said: string, outputMax: number, source: OutcomeSource, isRefused: boolean): Outcome {
  const { isHardened, isParsing = false, redactor } = source;
  const payload = said.slice(1);
  // Check lengths first: a huge text takes seconds to parse, and outside a turn the watch could not attribute them.
  if (said.startsWith("-") && payload.length > FAILURE_MAX) return failed(TAMPERED);
  if (said.startsWith("-")) return failed(readFailure(payload, redactor, isHardened || isParsing || isRefused));
  if (said.startsWith("+") && payload.length > outputMax) {
    return failed({ code: "output_too_large", message: `the output has ${payload.length} characters of JSON` });
  }
  if (!said.startsWith("+") || !isOneLine(payload) || (!isHardened && !isJson(payload))) return failed(TAMPERED);
  return { ok: true, payload };
}

/** The same as one text that can be embedded in a message. */
export function cleanOutcome(said: string, outputMax: number, source: OutcomeSource, isRefused: boolean): string {
  const { ok, payload } = readOutcome(said, outputMax, source, isRefused);
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

function readFailure(payload: string, redactor: ConfigRedactor | null, mayBeRefused: boolean): Failure {
  const said = parse(payload);
  if (typeof said !== "object" || said === null) return TAMPERED;
  const { code, message, ...rest } = said as { [key: string]: unknown };
  // Redacted before it is cut: a part of a key would not be found.
  const text = (value: unknown) =>
    typeof value === "string" ? (redactor?.text(value) ?? value).slice(0, TEXT_MAX) : undefined;
  const [type, stack] = [text(rest["type"]), text(rest["stack"])];
  const isKnown = isErrorCode(code) && (GUEST_CODES.has(code) || (mayBeRefused && code === "invalid_arguments"));
  const violations = isKnown ? readViolations(rest["violations"], (value) => text(value) ?? "") : undefined;
  return {
    code: isKnown ? code : "tool_error",
    message: text(message) ?? "the tool failed without a message",
    ...(type === undefined ? {} : { type }),
    ...(stack === undefined ? {} : { stack }),
    ...(violations === undefined ? {} : { violations }),
  };
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
