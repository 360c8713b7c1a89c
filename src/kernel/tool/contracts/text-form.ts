import { parseWithDigits } from "../../base/exact-json.ts";
import { describeExcess } from "../../base/json.ts";
import type { Outcome } from "./contract.ts";

/** Prefix that marks a failure in contracts whose results are only text. */
export const FAILED = "Error: ";

/** The output for a model: a string unchanged, any other value as JSON. */
export function textOf(output: unknown): string {
  return typeof output === "string" ? output : (JSON.stringify(output) ?? "null");
}

/** Parses a text as JSON; otherwise returns the text itself. */
export function outputOf(text: string): unknown {
  if (describeExcess(text) !== null) return text;
  try {
    const value = parseWithDigits(text);
    // JSON would write another text.
    return Object.is(value, -0) ? text : value;
  } catch {
    return text;
  }
}

/** A failure's message, and the partial output of the tool, if any. */
export function failureTexts(message: string, output: unknown): [string, ...string[]] {
  const text = output === null || output === undefined ? "" : textOf(output);
  return text === "" ? [message] : [message, text];
}

/** Reads a result from texts, and from images among them. */
export function readTexts(texts: readonly unknown[]): Outcome {
  const [first = "", ...rest] = texts;
  return typeof first === "string" && first.startsWith(FAILED)
    ? failureOf(first.slice(FAILED.length), rest)
    : { ok: true, output: outputsOf(texts) };
}

/** A failure from its message and further texts. */
export function failureOf(message: string, rest: readonly unknown[]): Outcome {
  const error = { message };
  return rest.length === 0 ? { ok: false, error } : { ok: false, error, output: outputsOf(rest) };
}

/** The output of texts: one text is the output itself, several are a list. Other values stay unchanged. */
export function outputsOf(texts: readonly unknown[]): unknown {
  const [first = "", ...rest] = texts.map((each) => (typeof each === "string" ? outputOf(each) : each));
  return rest.length === 0 ? first : [first, ...rest];
}
