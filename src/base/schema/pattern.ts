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

/** The interface that ajv expects of a regular expression. */
export interface Pattern {
  test(text: string): boolean;
  toString(): string;
}

/** Number of instructions of a compiled pattern that RE2 processes per character in the time of one meter step. */
const INSTRUCTIONS_PER_STEP = 16;

/**
 * Compiles a schema's `pattern`.
 *
 * The pattern comes from a tool and the string from a caller; both are untrusted, and matching runs on the host's
 * thread. V8's matcher backtracks, and the patterns that make it explode cannot be detected reliably; RE2 takes time
 * linear in the string. It has no look-around and no back-references, so these are refused at registration.
 */
export function compilePattern(pattern: string, meter: WorkMeter): Pattern {
  let compiled: RE2JS;
  // Loaded on demand: the library is large, and most schemas have no pattern.
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
    // ajv identifies patterns by their text.
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
