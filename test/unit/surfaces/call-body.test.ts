import fc from "fast-check";
import { expect, test } from "vitest";
import { parseCall } from "../../../src/surfaces/http/call-body.ts";

test("a body's call and options are read apart", () => {
  const options = { tenant: "t", priority: -2, limits: { wallMs: 5 }, capabilities: { kv: true }, retries: 2 };
  expect(parseCall({ id: "1", name: "add", arguments: { a: 1 }, options, more: true })).toEqual({
    call: { id: "1", name: "add", arguments: { a: 1 } },
    options,
  });
});

test("an id of null is none, and options may be left out", () => {
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
