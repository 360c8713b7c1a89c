import type { ErrorCode } from "../base/errors.ts";
import { type CapabilityOutcome, methodName } from "./capability-event.ts";

/** Longest message of a failed ask, in characters. */
export const MESSAGE_MAX = 2_000;

/** Of what a handler throws no more is read. */
const MESSAGE_READ_MAX = 20_000;

/** The error codes of asks that did not end well. */
export const CODES = {
  denied: "capability_denied",
  limit: "capability_limit",
  failed: "capability_failed",
} as const satisfies Partial<Record<CapabilityOutcome, ErrorCode>>;

/** What a call may do with its bytes. */
export function exchange(capabilityBytes: number): string {
  return `exchange ${capabilityBytes} bytes with the host`;
}

/**
 * What a handler's error says to the tool: its message, without secrets and the host's paths. What is thrown may be
 * anything. Secrets go first, because half of one would not be known for what it is.
 */
export function messageOf(error: unknown, redact: (text: string) => string): string {
  try {
    const message: unknown = error instanceof Error ? error.message : error;
    if (typeof message !== "string") return "its handler threw no message";
    return redact(message.slice(0, MESSAGE_READ_MAX)).replaceAll(/(?:\/[\w.@-]+){2,}/g, "(path)");
  } catch {
    return "its handler threw what cannot be read";
  }
}

/** What was asked for, as its tool knows it: without the steps of which a handler's progress is made. */
export function labelOf({ capability, method }: { readonly capability: string; readonly method: string }): string {
  return `${capability}.${methodName(method)}`.slice(0, 130);
}
