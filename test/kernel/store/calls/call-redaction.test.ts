import { describe, expect, test } from "vitest";
import { DetailText, mayHidePasswords, redact } from "../../../../src/kernel/store/calls/call-redaction.ts";
import type { CallDetail, DetailTexts } from "../../../../src/kernel/store/calls/call-record.ts";

const PASSWORD = { type: "string", format: "password" };

describe("redact", () => {
  test("hides what is writeOnly or a password, wherever it is", () => {
    const schema = {
      properties: {
        user: { type: "string" },
        password: PASSWORD,
        nested: { properties: { token: { writeOnly: true } } },
        list: { items: { properties: { pin: PASSWORD } } },
        pair: { prefixItems: [{ type: "string" }, PASSWORD] },
      },
      patternProperties: { "^x-": PASSWORD },
    };
    const value = {
      user: "ada",
      password: "a",
      nested: { token: { deep: 1 }, other: 2 },
      list: [{ pin: "b" }, { pin: 3, name: "c" }],
      pair: ["d", "e"],
    };
    expect(redact(value, { ...schema, patternProperties: {} })).toEqual({
      user: "ada",
      password: "[redacted]",
      nested: { token: "[redacted]", other: 2 },
      list: [{ pin: "[redacted]" }, { pin: "[redacted]", name: "c" }],
      pair: ["d", "[redacted]"],
    });
    // No pattern is tried, so each may match.
    expect(redact({ any: 1 }, schema)).toEqual({ any: "[redacted]" });
  });

  test("follows references and every branch", () => {
    const cases = [
      [{ $ref: "#/$defs/a~1b", $defs: { "a/b": { properties: { p: PASSWORD } } } }, { p: 1 }],
      [{ $ref: "#named", $defs: { x: { $anchor: "named", properties: { p: PASSWORD } } } }, { p: 1 }],
      [{ anyOf: [{ type: "object" }, { properties: { p: PASSWORD } }] }, { p: 1 }],
      [{ oneOf: [{ allOf: [{ properties: { p: PASSWORD } }] }] }, { p: 1 }],
      [{ if: {}, then: { additionalProperties: PASSWORD } }, { p: 1 }],
      [{ dependentSchemas: { p: { properties: { p: { writeOnly: true } } } } }, { p: 1 }],
      [{ properties: { p: { $ref: "#/definitions/s" } }, definitions: { s: PASSWORD } }, { p: 1 }],
    ] as const;
    for (const [schema, value] of cases) expect(redact(value, schema)).toEqual({ p: "[redacted]" });
  });

  test("ends where references go in circles, and refuses a schema without end", () => {
    const circle = {
      $ref: "#/$defs/a",
      $defs: { a: { $ref: "#/$defs/b" }, b: { anyOf: [{ $ref: "#/$defs/a" }, PASSWORD] } },
    };
    expect(redact("x", circle)).toBe("[redacted]");
    const tree = { properties: { child: { $ref: "#" }, secret: PASSWORD } };
    expect(redact({ child: { child: { secret: 1, name: 2 } } }, tree)).toEqual({
      child: { child: { secret: "[redacted]", name: 2 } },
    });
    const wide = { additionalProperties: { anyOf: Array.from({ length: 2_000 }, () => ({ type: "string" })) } };
    const many = Object.fromEntries(Array.from({ length: 1_000 }, (_, at) => [`m${at}`, at]));
    expect(() => redact(many, wide)).toThrow(RangeError);
  });

  test("leaves names of prototypes what they are", () => {
    const value = JSON.parse('{"__proto__":{"p":1},"constructor":2}') as object;
    const copy = redact(value, { properties: { other: PASSWORD } });
    expect(JSON.stringify(copy)).toBe('{"__proto__":{"p":1},"constructor":2}');
  });
});

describe("the text of a detail", () => {
  const given: DetailTexts = {
    arguments: '{"n":12345678901234567890,"p":"secret"}',
    output: '{"result":{"t":1}}',
    outputAt: "/result",
    error: null,
    logs: '[["log","said"]]',
    told: null,
    turns: { beginMs: 1_000, startsMs: [1_005], cpuMs: 2.5, told: "" },
    explanation: null,
    run: null,
    omitted: [],
    schemas: null,
  };
  const write = (more: Partial<DetailTexts> = {}) => new DetailText().write({ ...given, ...more });
  const read = (json: string): CallDetail => JSON.parse(json) as CallDetail;

  test("keeps the digits of long integers, with and without redaction", () => {
    const schemas = JSON.stringify([{ properties: { p: PASSWORD } }, null]);
    expect(write().json).toContain("12345678901234567890");
    const text = write({ schemas }).json;
    expect(text).toContain('"arguments":{"n":12345678901234567890,"p":"[redacted]"}');
    expect(read(text)).toMatchObject({ output: { t: 1 }, logs: [{ level: "log", message: "said" }], omitted: [] });
  });

  test("leaves out a part that cannot be redacted", () => {
    const schemas = JSON.stringify([{ format: "password" }, null]);
    const written = read(write({ arguments: "no JSON", logs: "[", schemas }).json);
    expect(written).toMatchObject({ arguments: null, omitted: ["arguments", "logs"] });
  });

  test("has what the broker told, and for a replay the journal with the other inputs", () => {
    const told = (text: string): DetailTexts["told"] => new TextEncoder().encode(text);
    const asked = '{"asks":[{"step":1}],"asksOmitted":3}\n';
    const whole = write({ told: told(`${asked}{"asks":[1],"answers":[]}`), run: '{"startMs":7}' });
    expect(read(whole.json)).toMatchObject({ asks: [{ step: 1 }], asksOmitted: 3, isReplayable: true, omitted: [] });
    expect(whole.run).toBe('{"startMs":7,"asks":[1],"answers":[]}');
    expect(write({ run: '{"startMs":7}' }).run).toBe('{"startMs":7,"asks":[],"answers":[]}');
    const cut = write({ told: told(asked), run: '{"startMs":7}' });
    expect(read(cut.json)).toMatchObject({ isReplayable: false, omitted: ["journal"] });
    expect(cut.run).toBeNull();
  });

  test("has one turn of a call that told none, and of lost starts the begin", () => {
    expect(read(write().json).turns).toEqual([{ atMs: 5, cpuMs: 2.5, attempt: 1 }]);
    const turns = { beginMs: 1_000, startsMs: [1_002, 1_010], cpuMs: 2, told: "1010.5 0.25,1020.0 0.125" };
    expect(read(write({ turns }).json).turns).toEqual([
      { atMs: 2, cpuMs: 0, attempt: 1 },
      { atMs: 10.5, cpuMs: 0.25, attempt: 2 },
      { atMs: 20, cpuMs: 0.125, attempt: 2 },
    ]);
  });

  test("leaves out what is not a turn", () => {
    const told = `1e9 1,-5 1,1010 x,"],1012.5 0.5,${"1 1,".repeat(500)}`;
    const { turns } = read(write({ turns: { beginMs: 1_000, startsMs: [1_001], cpuMs: 1, told } }).json);
    expect(turns).toHaveLength(200);
    expect(turns[0]).toEqual({ atMs: 12.5, cpuMs: 0.5, attempt: 1 });
  });

  test("schemas without passwords need not be sent", () => {
    expect(mayHidePasswords(JSON.stringify([{ properties: { a: { type: "string" } } }, null]))).toBe(false);
    expect(mayHidePasswords(JSON.stringify([{ properties: { a: { writeOnly: true } } }, null]))).toBe(true);
    expect(mayHidePasswords(JSON.stringify([PASSWORD, null]))).toBe(true);
  });
});
