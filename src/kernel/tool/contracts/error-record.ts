import { isObject } from "../../base/json.ts";
import { isErrorCode, type ToolError } from "../../base/errors.ts";
import type { OutcomeError } from "./contract.ts";

/** The whole error, for contracts whose error may be any JSON. */
export type ErrorRecord = {
  type: string;
  code: string;
  message: string;
  retryable: boolean;
  details?: unknown;
};

export function writeError({ type, code, message, retryable, details }: ToolError): ErrorRecord {
  const record = { type, code, message, retryable };
  return details === undefined ? record : { ...record, details };
}

/** Reads an error from any value: a record with a `message`, a text, or other JSON. */
export function readError(value: unknown): OutcomeError {
  if (!isObject(value))
    return { message: typeof value === "string" ? value : (JSON.stringify(value) ?? "Unknown error") };
  const { type, code, message, retryable, details } = value;
  return {
    ...(typeof type === "string" ? { type } : {}),
    message: typeof message === "string" ? message : JSON.stringify(value),
    ...(isErrorCode(code) ? { code } : {}),
    ...(typeof retryable === "boolean" ? { retryable } : {}),
    ...(isObject(details) ? { details } : {}),
  };
}
