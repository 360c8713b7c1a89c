import { describeExcess } from "../../base/json.ts";
import type { ToolResult } from "../../base/result.ts";
import type { Outcome } from "./contract.ts";

/** A text in which a failure can only be told by how it begins. */
const FAILED = "Error: ";

/** What a model is told of an output: a text as it is, all else as JSON. */
export function textOf(output: unknown): string {
  return typeof output === "string" ? output : (JSON.stringify(output) ?? "null");
}

/** The output that a text stands for: what it is as JSON, else the text itself. */
export function outputOf(text: string): unknown {
  if (describeExcess(text) !== null) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** A failure's message, and what the tool had made before it failed, where it made something. */
export function failureTexts(message: string, output: unknown): [string, ...string[]] {
  const text = output === null || output === undefined ? "" : textOf(output);
  return text === "" ? [message] : [message, text];
}

/** A result for contracts that have nothing but text for it. */
export function resultTexts({ error, output }: ToolResult): [string, ...string[]] {
  return error === null ? [textOf(output)] : failureTexts(FAILED + error.message, output);
}

/** How a call ended, from nothing but texts. */
export function readTexts(texts: readonly string[]): Outcome {
  const [first = "", ...rest] = texts;
  return first.startsWith(FAILED)
    ? failureOf(first.slice(FAILED.length), rest)
    : { ok: true, output: outputsOf(texts) };
}

/** A failure, from its message and what else is said. */
export function failureOf(message: string, rest: readonly string[]): Outcome {
  const error = { message };
  return rest.length === 0 ? { ok: false, error } : { ok: false, error, output: outputsOf(rest) };
}

/** What texts stand for: one for its own output, several for a list. */
export function outputsOf(texts: readonly string[]): unknown {
  const [first = "", ...rest] = texts;
  return rest.length === 0 ? outputOf(first) : texts.map(outputOf);
}
