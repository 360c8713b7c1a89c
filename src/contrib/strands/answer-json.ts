import { describeExcess } from "../../kernel/base/json.ts";

const LENGTH_MAX = 1_000_000;

/**
 * The JSON in a model's answer: the whole text, or a block of code, or the text between the first and the last bracket.
 * Otherwise `undefined`.
 */
export function jsonIn(answer: string): unknown {
  if (answer.length > LENGTH_MAX) return undefined;
  const fenced = /```(?:json)?\s*\n(.*?)```/s.exec(answer)?.[1];
  for (const text of [answer, fenced, between(answer, "[", "]"), between(answer, "{", "}")]) {
    const value = text === undefined ? undefined : parse(text);
    if (typeof value === "object" && value !== null) return value;
  }
  return undefined;
}

function between(text: string, open: string, close: string): string | undefined {
  const [from, to] = [text.indexOf(open), text.lastIndexOf(close)];
  return from === -1 || to < from ? undefined : text.slice(from, to + 1);
}

function parse(text: string): unknown {
  if (describeExcess(text) !== null) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
