import { isDeepStrictEqual } from "node:util";
import {
  type Contract,
  glovebox,
  type Loss,
  type Outcome,
  type ToolDescription,
} from "../../../../src/standard/contracts.ts";
import { toolError } from "../../../../src/kernel/base/errors.ts";
import type { ToolCall, ToolResult } from "../../../../src/kernel/base/result.ts";
import { LEFT_OVERS, NOTHING } from "./left-over.ts";

type Of = Loss["of"];
export type Fields = ReadonlyMap<string, unknown>;

/** One of ours, taken apart, and what is read of it once it was written. */
export interface RoundTrip {
  readonly of: Of;
  readonly before: Fields;
  readonly after: Fields;
  readonly outcome?: Outcome;
}

export function tripTool(contract: Contract, tool: ToolDescription): RoundTrip {
  return { of: "tool", before: fieldsOfTool(tool), after: fieldsOfTool(contract.readTool(contract.writeTool(tool))) };
}

export function tripCall(contract: Contract, call: ToolCall): RoundTrip {
  return { of: "call", before: fieldsOf(call), after: fieldsOf(contract.readCall(contract.writeCall(call))) };
}

export function tripResult(contract: Contract, result: ToolResult): RoundTrip {
  const outcome = glovebox.readResult(result);
  const read = contract.readResult(contract.writeResult(result));
  return { of: "result", before: fieldsOfOutcome(outcome), after: fieldsOfOutcome(read), outcome };
}

/** The fields that did not come back, though nothing says that they are lost. */
export function lostInSilence(contract: Contract, trip: RoundTrip): string[] {
  const { of, before, after, outcome } = trip;
  const losses = new Set(contract.losses.filter((loss) => loss.of === of).map(({ field }) => field));
  // What is not read as the success it was has none of its fields.
  if (losses.has("success") && before.get("success") !== after.get("success")) {
    const output = before.get("output");
    return typeof output === "string" && output.startsWith("Error: ") ? [] : ["success"];
  }
  const names = new Set([...before.keys(), ...after.keys()]);
  return [...names].filter((name) => {
    const was = before.get(name);
    const left = losses.has(name) ? (LEFT_OVERS[contract.name]?.[`${of}.${name}`] ?? (() => NOTHING)) : () => was;
    const expected = left(was, outcome);
    return expected !== NOTHING && !isDeepStrictEqual(after.get(name), expected);
  });
}

/** Whether a trip shows that a field is lost. */
export function shows({ of, before, after }: RoundTrip, loss: Loss): boolean {
  return of === loss.of && !isDeepStrictEqual(before.get(loss.field), after.get(loss.field));
}

function fieldsOfTool(tool: ToolDescription): Fields {
  return new Map([...fieldsOf(tool)].filter(([, value]) => value !== null && !isEmptyList(value)));
}

/** What is not said of an error is what its code stands for, as it is for the engine. */
export function fieldsOfOutcome(outcome: Outcome): Fields {
  const { ok, output = null, metadata } = outcome;
  if (ok) return fieldsOf({ success: ok, output, metadata });
  const { message, code = "tool_error", details, type, retryable } = outcome.error;
  const error = toolError(code, message, details, type);
  return fieldsOf({
    success: ok,
    output,
    metadata,
    "error.message": message,
    "error.code": code,
    "error.type": error.type,
    "error.retryable": retryable ?? error.retryable,
    "error.details": details,
  });
}

function fieldsOf(value: object): Fields {
  return new Map(Object.entries(value).filter(([, each]) => each !== undefined));
}

function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}
