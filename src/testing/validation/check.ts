import type { Runtime } from "../../kernel/base/protocol/script.ts";

/** Result of one check. Only an `error` makes a module invalid. */
export interface Check {
  readonly level: "pass" | "info" | "warning" | "error";
  /** Subject in one word: `name`, `mount`, `execute`. */
  readonly about: string;
  readonly message: string;
}

export function pass(about: string, message: string): Check {
  return { level: "pass", about, message };
}

export function info(about: string, message: string): Check {
  return { level: "info", about, message };
}

export function warning(about: string, message: string): Check {
  return { level: "warning", about, message };
}

export function error(about: string, message: string): Check {
  return { level: "error", about, message };
}

/** Language of a tool's code, for advice with examples. */
export function languageOf(runtime: Runtime): "javascript" | "python" {
  return runtime === "python" ? "python" : "javascript";
}
