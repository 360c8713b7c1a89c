import fc from "fast-check";
import type { Outcome, ToolDescription } from "../../../../src/standard/contracts.ts";
import { parseWithDigits } from "../../../../src/kernel/base/exact-json.ts";
import { ERRORS, type ErrorCode, toolError } from "../../../../src/kernel/base/errors.ts";
import { emptyMetadata, failure, type ToolCall, type ToolResult } from "../../../../src/kernel/base/result.ts";

/** The id and the tool of every golden message. */
export const CALL_ID = "call-1";

const NAME_CHARACTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";

/** Names as the engine takes them, and often those that look as if they had been written for a model already. */
export const names = fc.oneof(
  fc.string({ unit: fc.constantFrom(...NAME_CHARACTERS.split("")), minLength: 1, maxLength: 128 }),
  fc
    .array(fc.constantFrom("-do", "t", "_", "-dot_", "-", ".", "0", "_-", "a"), { minLength: 1, maxLength: 12 })
    .map((parts) => parts.join("")),
  fc.constantFrom("__proto__", "constructor", "toString", "hasOwnProperty", "a".repeat(65), "a.".repeat(64)),
);

/** JSON values in which keys are often those that JavaScript knows. */
export const json: fc.Arbitrary<unknown> = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.oneof(
      fc.constantFrom(null, true, false, 0, "", "42", "null", "Error: no", "{", '{"a":1}', '"'),
      fc.string(),
      fc.integer(),
      // As JSON is read: without a negative zero, and with the digits of long integers.
      fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => parseWithDigits(JSON.stringify(value))),
    ),
    fc.array(tie("value"), { maxLength: 4 }),
    objects(tie("value")),
  ),
})).value;

export function objects(values: fc.Arbitrary<unknown>): fc.Arbitrary<Record<string, unknown>> {
  const keys = fc.oneof(
    fc.constantFrom("__proto__", "constructor", "output", "error", "message", "type", "details"),
    fc.string({ maxLength: 8 }),
  );
  return fc
    .array(fc.tuple(keys, values), { maxLength: 5 })
    .map((entries): Record<string, unknown> => Object.fromEntries(entries));
}

const propertySchemas = fc.constantFrom(
  { type: "string", description: "Some text" },
  { type: "integer", minimum: 1, maximum: 30, default: 7 },
  { type: "array", items: { type: "number" } },
  { type: "string", enum: ["celsius", "fahrenheit"] },
  { anyOf: [{ type: "string" }, { type: "null" }] },
);

const objectSchemas = fc
  .record({
    properties: fc.dictionary(fc.string({ minLength: 1, maxLength: 8 }), propertySchemas, {
      maxKeys: 4,
      noNullPrototype: true,
    }),
    additionalProperties: fc.boolean(),
  })
  .chain(({ properties, additionalProperties }) =>
    fc.subarray(Object.keys(properties)).map((required) => ({
      type: "object",
      properties,
      ...(required.length === 0 ? {} : { required }),
      ...(additionalProperties ? {} : { additionalProperties }),
    })),
  );

const schemas = fc.oneof(
  { weight: 4, arbitrary: objectSchemas },
  { weight: 1, arbitrary: fc.constantFrom({}, true, false) },
);

export const tools: fc.Arbitrary<ToolDescription> = fc.record(
  {
    name: names,
    description: fc.string({ minLength: 1 }),
    inputSchema: schemas,
    version: fc.constantFrom("1.0.0", "2.1.3-beta"),
    tags: fc.array(fc.string({ minLength: 1, maxLength: 8 }), { minLength: 1, maxLength: 3 }),
    outputSchema: schemas,
    annotations: fc
      .record(
        { title: fc.string({ minLength: 1 }), readOnly: fc.boolean(), idempotent: fc.boolean() },
        { requiredKeys: [], noNullPrototype: true },
      )
      .filter((annotations) => Object.keys(annotations).length > 0),
    limits: fc
      .tuple(fc.integer({ min: 1, max: 60_000 }), fc.integer({ min: 8, max: 64 }))
      .map(([wallMs, memoryMb]) => ({ wallMs, memoryMb })),
    retries: fc.integer({ min: 0, max: 5 }),
    outputChars: fc.integer({ min: 1, max: 50_000 }),
  },
  { requiredKeys: ["name", "description", "inputSchema"], noNullPrototype: true },
);

export const calls: fc.Arbitrary<ToolCall> = fc.record(
  {
    id: fc.string({ minLength: 1, maxLength: 64 }),
    name: names,
    arguments: objects(json),
    command: fc.constant("geocode"),
  },
  { requiredKeys: ["name", "arguments"], noNullPrototype: true },
);

const errors = fc
  .record({
    code: fc.constantFrom(...(Object.keys(ERRORS) as ErrorCode[])),
    message: fc.oneof(fc.string(), fc.constantFrom("", "Error: no", "no such file")),
    details: fc.option(fc.oneof(objects(json), json), { nil: undefined }),
    type: fc.option(fc.constantFrom("TypeError", "ValueError"), { nil: undefined }),
  })
  .map(({ code, message, details, type }) => toolError(code, message, details, type));

export const results: fc.Arbitrary<ToolResult> = fc
  .record({
    tool: names,
    error: fc.option(errors, { nil: null }),
    output: json,
    said: fc.dictionary(fc.constantFrom("path", "size", "contentKinds"), json, { maxKeys: 2, noNullPrototype: true }),
  })
  .map(({ tool, error, output, said }) => {
    const metadata = { ...said, ...emptyMetadata(CALL_ID, tool, 1) };
    return error === null
      ? { success: true, output, error, metadata }
      : { ...failure(error, metadata), ...(output === null ? {} : { output }) };
  });

/** The engine's result of a call that ended so. */
export function resultOf(outcome: Outcome, tool: string): ToolResult {
  const metadata = { ...outcome.metadata, ...emptyMetadata(CALL_ID, tool, 0) };
  if (outcome.ok) return { success: true, output: outcome.output, error: null, metadata };
  const { message, code = "tool_error", details, type, retryable } = outcome.error;
  const error = toolError(code, message, details, type);
  return {
    success: false,
    output: outcome.output ?? null,
    error: retryable === undefined ? error : { ...error, retryable },
    metadata,
  };
}
