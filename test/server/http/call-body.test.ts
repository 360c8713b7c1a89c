import fc from "fast-check";
import { expect, test } from "vitest";
import { describeMalformed, describeOptions } from "../../../src/kernel/engine/call/arguments.ts";
import { DEFAULT_LIMITS, MAX_LIMITS, resolveLimits } from "../../../src/kernel/base/limits.ts";
import { SCHEMAS } from "../../../src/server/http/api/schemas.ts";
import { parseBatch, parseCall } from "../../../src/server/http/call-body.ts";
import { compileSchema } from "../../../src/kernel/base/schema/schema.ts";

/** The calls of a batch, whatever they are. */
const CALLS = { type: "array", minItems: 1 };

test("a body's call and options are read apart", () => {
  const options = { tenant: "t", priority: -2, limits: { wallMs: 5 }, capabilities: { kv: true }, retries: 2 };
  expect(parseCall({ id: "1", name: "add", arguments: { a: 1 }, options, more: true })).toEqual({
    call: { id: "1", name: "add", arguments: { a: 1 } },
    options,
  });
});

test("an id of null counts as none given, and options may be left out", () => {
  const parsed = parseCall({ id: null, name: "add", arguments: {} });
  expect(parsed).toEqual({ call: { name: "add", arguments: {} }, options: {} });
});

test("every option may be wrong in its own way, and is named", () => {
  for (const [options, where] of [
    [{ tenant: 1 }, "options.tenant"],
    [{ tenant: "t".repeat(257) }, "options.tenant"],
    [{ priority: null }, "options.priority"],
    [{ limits: 5 }, "options.limits"],
    [{ retries: "2" }, "options.retries"],
    [{ capabilities: ["kv"] }, "options.capabilities"],
    [{ signal: {} }, "options.signal"],
    [JSON.parse('{"__proto__":{}}'), "options.__proto__"],
  ] as const) {
    expect(parseCall({ name: "add", options })).toContain(where);
  }
});

test("any JSON is either a call or told what is wrong with it in a line", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (body) => {
      const parsed = parseCall(body);
      if (typeof parsed === "string") expect(parsed).toMatch(/^.{1,300}$/);
      else expect(typeof parsed.call.name).toBe("string");
    }),
  );
});

/** Values of the kind that belongs somewhere, and others: short texts, as a schema counts characters in its own way. */
const value = fc.oneof(fc.jsonValue({ maxDepth: 1 }), fc.constantFrom(null, 0, -1, 6, 0.5, 5, "", "a", {}, [], true));
const text = fc.oneof(fc.string({ unit: "grapheme-ascii", maxLength: 300, size: "max" }), value);
const limits = fc.oneof(fc.dictionary(fc.constantFrom("wallMs", "cpuMs", "none", "__proto__"), value), value);
const options = fc.record(
  { tenant: text, priority: value, limits, capabilities: value, retries: value, idempotencyKey: text, other: value },
  { requiredKeys: [] },
);
const call = fc.record(
  { id: text, name: text, arguments: value, command: text, options: fc.oneof(options, value), other: value },
  { requiredKeys: [] },
);

/** Whether a body is taken for a call by all who read it: the door, and then the engine. */
function isTaken(body: unknown): boolean {
  const parsed = parseCall(body);
  if (typeof parsed === "string") return false;
  const { call: parsedCall, options: parsedOptions } = parsed;
  if (describeOptions(parsedOptions) !== null || describeMalformed(parsedCall, parsedCall.id ?? "made") !== null) {
    return false;
  }
  try {
    resolveLimits(DEFAULT_LIMITS, parsedOptions.limits, MAX_LIMITS);
    return true;
  } catch {
    return false;
  }
}

test("what is taken for a call is what the API's description says of one", () => {
  const schema = compileSchema(SCHEMAS.ToolCall, "inputSchema");
  fc.assert(
    fc.property(fc.oneof(call, call, value), (body) => {
      const read = JSON.parse(JSON.stringify(body)) as unknown;
      expect(schema.check(read).length === 0).toBe(isTaken(read));
    }),
    { numRuns: 3_000 },
  );
});

test("what is taken for a batch is what the API's description says of one, but for its calls", () => {
  const schema = compileSchema(
    { ...SCHEMAS.Batch, properties: { ...SCHEMAS.Batch.properties, calls: CALLS } },
    "inputSchema",
  );
  const batch = fc.record(
    { calls: fc.oneof(fc.array(value), value), options: fc.oneof(options, value), other: value },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(fc.oneof(batch, batch, value), (body) => {
      const read = JSON.parse(JSON.stringify(body)) as { calls?: unknown; options?: unknown };
      // What an option's value means is for each call to say.
      fc.pre(typeof parseBatch(read, 256) === "string" || isTaken({ name: "add", options: read.options }));
      expect(schema.check(read).length === 0).toBe(typeof parseBatch(read, 256) !== "string");
    }),
    { numRuns: 3_000 },
  );
});
