import { createRequire } from "node:module";
import type { RE2JS } from "re2js";
import type { WorkMeter } from "./work-meter.ts";

const require = createRequire(import.meta.url);

/** A `pattern` that cannot be used; the message says why. */
export class PatternError extends Error {
  override readonly name = "PatternError";
  readonly pattern: string;

  constructor(pattern: string, problem: string) {
    super(problem);
    this.pattern = pattern;
  }
}

/** What ajv needs of a regular expression. */
export interface Pattern {
  test(text: string): boolean;
  toString(): string;
}

/** Instructions of a compiled pattern that RE2 follows for a character in the time of one of the meter's steps. */
const INSTRUCTIONS_PER_STEP = 16;

/**
 * Compiles a schema's `pattern`.
 *
 * A tool's schema brings the pattern and a caller the string, and neither can be trusted, while matching runs on the
 * host's thread. V8's matcher backtracks, and which patterns make it explode cannot be told reliably; RE2's takes time
 * in proportion to the string. Look-around and back-references do not exist there, and are refused when the tool is
 * registered.
 */
export function compilePattern(pattern: string, meter: WorkMeter): Pattern {
  let compiled: RE2JS;
  // It is long, and most schemas have no pattern.
  const { RE2JS: Regexp } = require("re2js") as typeof import("re2js");
  try {
    compiled = Regexp.compile(Regexp.translateRegExp(pattern));
  } catch (error) {
    throw new PatternError(pattern, explain(pattern, error));
  }
  const weight = Math.max(1, compiled.programSize() / INSTRUCTIONS_PER_STEP);
  return {
    test(text) {
      meter.spend(text.length * weight);
      return compiled.test(text);
    },
    // ajv tells patterns apart by their text.
    toString: () => `/${pattern}/`,
  };
}

function explain(pattern: string, error: unknown): string {
  if (/\(\?<?[=!]/.test(pattern))
    return "looks ahead or behind, which cannot be matched in linear time; use allOf instead";
  if (/\\[1-9k]/.test(pattern)) return "refers back to a group, which cannot be matched in linear time";
  const reason = error instanceof Error ? error.message.replace(/^error parsing regexp: /, "") : "unknown";
  return `is not a regular expression of RE2: ${reason.slice(0, 200)}`;
}
