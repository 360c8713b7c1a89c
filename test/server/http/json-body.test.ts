import fc from "fast-check";
import { expect, test } from "vitest";
import { HostWorkQueue } from "../../../src/kernel/base/host-work-queue.ts";
import { isObject } from "../../../src/kernel/base/json.ts";
import { unreadJson } from "../../../src/kernel/base/unread-json.ts";
import { parseBatch, parseCall } from "../../../src/server/http/call-body.ts";
import { readLongBody } from "../../../src/server/http/json-body.ts";

const work = new HostWorkQueue();
const payer = { tenant: "", spendMain: () => undefined };
const read = (text: string, cutting: "call" | "batch") => readLongBody(text, cutting, work, payer);

const BLANKS = fc.string({ unit: fc.constantFrom(" ", "\t", "\n", "\r"), maxLength: 3 });
/** Names that cutting has to tell apart, some of them escaped. */
const KEYS = fc.constantFrom(
  '"arguments"',
  '"argu\\u006dents"',
  '"\\u0061rguments"',
  '"calls"',
  '"c\\u0061lls"',
  '"options"',
  '"__proto__"',
  '"Arguments"',
  '"arguments "',
  '"name"',
  '""',
  '"\\"arguments"',
);
const { value: JSON_TEXT } = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 5 },
    fc.constantFrom("null", "true", "-0", "1.50", "1e2", '""', '"\\ud800"', '"arguments"', '"\\"}{"', '"é\\n"'),
    fc.array(tie("value"), { maxLength: 3 }).chain(blanked("[", "]")),
    fc
      .array(fc.tuple(KEYS, tie("value")), { maxLength: 4 })
      .map((members) => members.map(([key, value]) => `${key}:${value}`))
      .chain(blanked("{", "}")),
  ),
}));

/** Joins values as a list or an object, with blanks where JSON allows them. */
function blanked(open: string, close: string) {
  return (values: readonly string[]) =>
    BLANKS.map((blank) => open + blank + values.join(`${blank},${blank}`) + blank + close);
}

const OBJECT = fc.array(fc.tuple(KEYS, JSON_TEXT), { maxLength: 5 });
const asObject = (members: readonly (readonly [string, string])[]) =>
  `{${members.map(([key, value]) => `${key} : ${value}`).join("\n,")}}`;

/** Arguments are what they were, or something else that the engine refuses as it would have refused them. */
function expectSame(cut: unknown, given: unknown): void {
  if (given === undefined || given === null || isObject(given)) {
    expect(cut).toEqual(given);
    expect(JSON.stringify(cut)).toBe(JSON.stringify(given));
  } else expect(isObject(cut) || cut === null || cut === undefined).toBe(false);
}

test("a call whose arguments are cut out of its body is the call that JSON.parse makes of it", async () => {
  await fc.assert(
    fc.asyncProperty(OBJECT, async (members) => {
      const text = asObject([...members, ['"name"', '"tool"']]);
      const body = (await read(text, "call")) as Record<string, unknown>;
      const expected = JSON.parse(text) as Record<string, unknown>;
      expect(Object.keys(body)).toEqual(Object.keys(expected));
      const [cut, whole] = [parseCall(body), parseCall(expected)];
      if (typeof cut === "string" || typeof whole === "string") {
        expect(cut).toEqual(whole);
        return;
      }
      const { json } = unreadJson(cut.call) ?? {};
      if (json !== undefined) expect(json).not.toMatch(/[\t\n\r]/);
      expectSame(cut.call.arguments, whole.call.arguments);
      expect({ ...cut, call: { ...cut.call, arguments: 0 } }).toEqual({
        ...whole,
        call: { ...whole.call, arguments: 0 },
      });
    }),
    { numRuns: 2_000 },
  );
});

test("the calls of a batch are cut, and nothing else of that name", async () => {
  await fc.assert(
    fc.asyncProperty(OBJECT, fc.array(OBJECT, { maxLength: 4 }), OBJECT, async (before, calls, after) => {
      const list = `[${calls.map((members) => asObject([...members, ['"name"', '"tool"']])).join(" , ")}]`;
      const text = asObject([...before, ['"calls"', list], ...after]);
      const body = (await read(text, "batch")) as Record<string, unknown>;
      const expected = JSON.parse(text) as Record<string, unknown>;
      const [cut, whole] = [parseBatch(body, 256), parseBatch(expected, 256)];
      if (typeof cut === "string" || typeof whole === "string") {
        expect(cut).toEqual(whole);
        return;
      }
      for (const [at, one] of cut.entries()) {
        const other = whole[at];
        if (typeof one === "string" || typeof other !== "object") expect(one).toEqual(other);
        else expectSame(one.call.arguments, other.call.arguments);
      }
      const rest = (value: Record<string, unknown>) => ({ ...value, calls: 0 });
      expect(rest(body)).toEqual(rest(expected));
    }),
    { numRuns: 2_000 },
  );
});

test("a body that is not JSON is refused, whatever its arguments would be", async () => {
  const change = fc.record({
    at: fc.nat(),
    cut: fc.integer({ min: 0, max: 2 }),
    put: fc.constantFrom(...'{}[],:" 0'.split(""), ""),
  });
  await fc.assert(
    fc.asyncProperty(OBJECT, change, async (members, { at, cut, put }) => {
      const whole = asObject(members);
      const start = at % (whole.length + 1);
      const text = whole.slice(0, start) + put + whole.slice(start + cut);
      let isJson = true;
      try {
        JSON.parse(text);
      } catch {
        isJson = false;
      }
      const outcome = await read(text, "call").then(
        () => "read",
        (error: { readonly code: string }) => error.code,
      );
      expect(outcome).toBe(isJson ? "read" : "FST_ERR_CTP_INVALID_JSON_BODY");
    }),
    { numRuns: 2_000 },
  );
});

test("a body too deep, or with too much beside its arguments, is refused", async () => {
  const deep = `{"arguments":{"a":${"[".repeat(1_100)}${"]".repeat(1_100)}}}`;
  await expect(read(deep, "call")).rejects.toThrow("the body is nested deeper than 1000 levels");
  const number = `{"arguments":{"a":${"1".repeat(5_000)}}}`;
  await expect(read(number, "call")).rejects.toThrow("a number in it has more than 4096 characters");
  await expect(read(JSON.stringify({ more: "x".repeat(1_100_000) }), "call")).rejects.toThrow("too much besides");
  // A batch of 66,000 such members took 65 ms of the main thread.
  const many = Object.fromEntries(Array.from({ length: 40_000 }, (_, n) => [`k${n}`, n]));
  await expect(read(JSON.stringify({ ...many, more: "x".repeat(70_000) }), "call")).rejects.toThrow("too much besides");
  const long = JSON.stringify({ name: "tool", arguments: { text: "x".repeat(3_000_000) } });
  await expect(read(`\uFEFF${long}`, "call")).resolves.toMatchObject({ name: "tool" });
});
