import equal from "ajv/dist/runtime/equal.js";
import ucs2length from "ajv/dist/runtime/ucs2length.js";
import { fullFormats } from "ajv-formats/dist/formats.js";
import type { ErrorObject } from "ajv";
import { parseWithBigInts, rawDigits } from "../exact-json.ts";
import { isObject } from "../json.ts";
import type { OutputAt } from "../protocol/script.ts";
import { type ContentBlock, describeMalformedBlock, outputOfBlocks } from "./content-blocks.ts";
import { functionOf, isDigits, isMultiple, isOneOf, numberOf, readDigits } from "./long-integers.ts";
import { boundViolation, describeViolations, toViolations, type Violation } from "./violation.ts";

/**
 * Runs inside isolates: the functions that a schema's generated code requires, and the check made from it. The
 * isolate's limits bound its work, so this code counts no steps.
 */

/** Names of the runtime that generated code requires, in addition to ajv's own. */
export const RUNTIME = "glovebox";

type Require = (name: string) => unknown;
type Validate = ((value: unknown) => unknown) & { errors?: readonly ErrorObject[] | null };

/** The code of a schema. `explain` collects all errors; without it a value gets only its first one. */
export interface CheckCode {
  readonly decide: (require: Require) => Validate;
  readonly explain?: (require: Require) => Validate;
}

/** Checks by their places. Each returns a `Failure` as JSON; empty if the value is valid. */
export interface Checks {
  /** Writes the schema's defaults INTO the arguments. */
  readonly input: ((value: unknown) => string) | null;
  /**
   * Takes the output as JSON text, so that nothing of the tool runs. Returns `+` and another text if digits in it are
   * numbers by the schema, and `~` and a warning if the output is delivered although it differs.
   */
  readonly output: ((text: string) => string) | null;
}

/** Places of a check, as the worker reads them after a turn. `refused`: the arguments were invalid. */
export const CHECKING = { nothing: 0, input: 1, output: 2, refused: 3 } as const;

const VIOLATIONS_MAX = 20;
/** Maximum length of a failure as JSON, in characters. */
const FAILURE_MAX = 32 * 1024;
/** Values with more parts get only their first violation: the list of all can be far larger than the value. */
const MAX_EXPLAINED_PARTS = 20_000;
/** Maximum number of times that a value is checked again because texts of digits in it were made integers. */
const ROUNDS_MAX = 32;

/**
 * `stage` shows the running check to the worker. `outputAt`: place of the output in the answer of the tool's contract.
 */
export function createChecks(
  stage: Int32Array,
  input: CheckCode | null,
  output: CheckCode | null,
  outputAt: OutputAt | null = null,
  isAdvice = false,
): Checks {
  const inputOf = input === null ? null : violationsIn(input, { reads: true });
  const outputOf = output === null ? null : violationsIn(output, { reads: true });
  return {
    input:
      inputOf &&
      ((value) => {
        stage[0] = CHECKING.input;
        const violations = inputOf({ value });
        const text =
          violations === null ? "" : failure("invalid_arguments", describeViolations(violations), violations);
        stage[0] = text === "" ? CHECKING.nothing : CHECKING.refused;
        return text;
      }),
    output:
      outputOf &&
      ((json) => {
        stage[0] = CHECKING.output;
        const answer = parsed(json);
        const value = outputAt === null ? answer : outputIn(answer, outputAt);
        const whole = { value, isChanged: false };
        const violations = value === undefined ? null : outputOf(whole);
        const text =
          violations === null ? "" : isAdvice ? adviceOf(violations) : failure("invalid_output", MISMATCH, violations);
        stage[0] = CHECKING.nothing;
        if (violations !== null || !whole.isChanged) return text;
        return `+${JSON.stringify(outputAt === null ? whole.value : withOutput(answer, outputAt, whole.value), writeBigInts)}`;
      }),
  };
}

const MISMATCH = "the output does not match the tool's outputSchema";

function adviceOf(violations: readonly Violation[]): string {
  return `~the answer differs from its schema: ${describeViolations(violations)}`;
}

/** A failure as JSON, without its last violations if the text would be too long. */
function failure(code: string, message: string, violations: readonly Violation[]): string {
  const text = JSON.stringify({ code, message, violations });
  return text.length > FAILURE_MAX && violations.length > 0 ? failure(code, message, violations.slice(0, -1)) : text;
}

/**
 * The output in an answer that wraps it; `undefined` for a failure, and for a malformed answer, which the reader of
 * the contract refuses.
 */
function outputIn(answer: unknown, at: OutputAt): unknown {
  if (!isObject(answer)) return undefined;
  switch (at) {
    case "/output":
      return answer["success"] === true ? (answer["output"] ?? null) : undefined;
    case "/result":
      return answer["success"] === true ? (answer["result"] ?? null) : undefined;
    case "/content":
      return answer["status"] === "success" && isContent(answer["content"])
        ? outputOfBlocks(answer["content"])
        : undefined;
  }
}

/** The answer with another output in its place. */
function withOutput(answer: unknown, at: OutputAt, output: unknown): unknown {
  if (at !== "/content") return { ...(answer as object), [at.slice(1)]: output };
  // Within several blocks, and within the value of one, they were made in their places.
  const { content } = answer as { readonly content: readonly ContentBlock[] };
  return content.length === 1 && content.some((block) => "json" in block)
    ? { ...(answer as object), content: [{ json: output }] }
    : answer;
}

function writeBigInts(_name: string, value: unknown): unknown {
  return typeof value === "bigint" ? rawDigits(String(value)) : value;
}

function isContent(value: unknown): value is readonly ContentBlock[] {
  return Array.isArray(value) && value.every((block) => describeMalformedBlock(block) === null);
}

/** `undefined` for a text that is not JSON, which the worker itself refuses. */
function parsed(json: string): unknown {
  try {
    return parseWithBigInts(json);
  } catch {
    return undefined;
  }
}

/** A value, and whether texts of digits in it were made integers. */
interface Checked {
  value: unknown;
  isChanged?: boolean;
}

/** A check that returns the first violations of a value; `null` if it is valid. `reads`: makes integers of texts of digits. */
export function violationsIn(
  { decide, explain }: CheckCode,
  { max = VIOLATIONS_MAX, reads = false } = {},
): (checked: Checked) => readonly Violation[] | null {
  const isValid = decide(requireRuntime);
  let explained: Validate | undefined;
  /** The violations of a value that `isValid` has just refused. */
  const violationsOf = (checked: Checked): readonly Violation[] | null => {
    for (let round = 0; ; round++) {
      // A copy would cost more, so the second pass sees the defaults that the first one wrote.
      const isShort = explain !== undefined && !hasMoreParts(checked.value, MAX_EXPLAINED_PARTS);
      if (isShort) explained ??= explain(requireRuntime);
      const errors = (isShort && explained?.(checked.value) === false ? explained.errors : isValid.errors) ?? [];
      if (!reads || round === ROUNDS_MAX || !readDigits(checked, errors, !isShort))
        return toViolations(errors.slice(0, max));
      checked.isChanged = true;
      if (isValid(checked.value) === true) return null;
    }
  };
  return (checked) => {
    try {
      return isValid(checked.value) === true ? null : violationsOf(checked);
    } catch (error) {
      // ajv recurses into nested values.
      if (error instanceof RangeError) return [boundViolation("depth", "less deeply nested")];
      return [boundViolation("schema", "one that the schema's own check can read")];
    } finally {
      // Errors hold the value, which must not outlive its call.
      isValid.errors = null;
      if (explained !== undefined) explained.errors = null;
    }
  };
}

const RUNTIMES = new Map<string, unknown>([
  ["ajv/dist/runtime/equal", { default: functionOf(equal) }],
  ["ajv/dist/runtime/ucs2length", { default: functionOf(ucs2length) }],
  ["ajv-formats/dist/formats", { fullFormats }],
  [RUNTIME, { patternOf, duplicateIn, isDigits, isMultiple, isOneOf, numberOf }],
]);

function requireRuntime(name: string): unknown {
  const found = RUNTIMES.get(name);
  if (found === undefined) throw new TypeError(`a check needs ${name}, which isolates do not have`);
  return found;
}

/** A `pattern`. A pattern that Unicode mode refuses, such as `\-`, is read without that mode. */
export function patternOf(pattern: string, flags: string): RegExp {
  try {
    return new RegExp(pattern, flags);
  } catch {
    return new RegExp(pattern);
  }
}

/**
 * The indexes of two equal items; `null` if all differ. In linear time: ajv's own compares every item with every
 * other, which takes minutes for a hundred thousand empty objects.
 */
export function duplicateIn(items: readonly unknown[]): readonly [at: number, first: number] | null {
  const seen = new Map<string, number>();
  for (let at = 0; at < items.length; at++) {
    const text = canonical(items[at]);
    const first = seen.get(text);
    if (first !== undefined) return [at, first];
    seen.set(text, at);
  }
  return null;
}

/** A canonical text: equal exactly for values that JSON Schema considers equal. */
function canonical(value: unknown): string {
  if (typeof value === "bigint") return String(value);
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, item]) => `${JSON.stringify(key)}:${canonical(item)}`).join()}}`;
}

function hasMoreParts(value: unknown, limit: number): boolean {
  const open: unknown[] = [value];
  for (let parts = 0; open.length > 0; parts++) {
    if (parts + open.length > limit) return true;
    const part = open.pop();
    if (typeof part !== "object" || part === null) continue;
    if (Array.isArray(part) && part.length > limit) return true;
    for (const child of Object.values(part)) open.push(child);
  }
  return false;
}
