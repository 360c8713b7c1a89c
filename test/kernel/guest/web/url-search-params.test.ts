import fc from "fast-check";
import { expect, test } from "vitest";
import { URLSearchParams as Ours } from "../../../../src/kernel/guest/web/url-search-params.ts";
import { inIsolate } from "./in-isolate.ts";

const unit = fc.oneof(
  fc.constantFrom(..."&=+%?# aAzZ09é€!'()~*-._".split("")),
  fc.constantFrom("%41", "%C3%A9", "%c3", "%FF", "%zz", "%", "😀", "\ud800", "\udc00", "\ufeff"),
);
const text = fc.string({ unit, maxLength: 15 });

function dump(params: Ours | URLSearchParams): unknown {
  const entries = Array.from(params as Iterable<[string, string]>);
  return [entries, params.toString(), params.size];
}

test("it parses and writes any query like Node", () => {
  fc.assert(
    fc.property(text, (query) => {
      // Node loses characters beyond ASCII that stand beside bytes that are not UTF-8, unless they come encoded.
      const encoded = query.toWellFormed().replace(/\P{ASCII}+/gu, encodeURIComponent);
      expect(dump(new Ours(query))).toEqual(dump(new URLSearchParams(encoded)));
    }),
    { numRuns: 2_000 },
  );
});

test("it takes pairs and records like Node", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(text, text)), (pairs) => {
      expect(dump(new Ours(pairs))).toEqual(dump(new URLSearchParams(pairs)));
      const record = Object.fromEntries(pairs);
      expect(dump(new Ours(record))).toEqual(dump(new URLSearchParams(record)));
      expect(dump(new Ours(new Ours(pairs) as never))).toEqual(dump(new URLSearchParams(pairs)));
    }),
  );
});

const name = fc.constantFrom("a", "b", "é", "\ud800", "z");
const value = fc.constantFrom("1", "2", "");
const command = fc.oneof(
  fc.record({ method: fc.constantFrom("append", "set"), args: fc.tuple(name, value) }),
  fc.record({ method: fc.constantFrom("delete", "has", "get", "getAll"), args: fc.tuple(name) }),
  fc.record({ method: fc.constantFrom("delete", "has"), args: fc.tuple(name, value) }),
  fc.record({ method: fc.constant("sort"), args: fc.constant([]) }),
);

test("any series of changes ends like Node's", () => {
  fc.assert(
    fc.property(fc.array(command, { maxLength: 20 }), (commands) => {
      const [ours, nodes] = [new Ours("b=2&a=1&b=3"), new URLSearchParams("b=2&a=1&b=3")];
      for (const { method, args } of commands) {
        const call = (params: object): unknown =>
          Reflect.apply(Reflect.get(params, method) as () => unknown, params, args);
        expect(call(ours)).toEqual(call(nodes));
      }
      expect(dump(ours)).toEqual(dump(nodes));
    }),
    { numRuns: 500 },
  );
});

test("sort keeps the order of equal names and compares code units", () => {
  const params = new Ours([
    ["\uffff", "1"],
    ["😀", "2"],
    ["a", "3"],
    ["a", "0"],
  ]);
  params.sort();
  expect([...params.keys()]).toEqual(["a", "a", "😀", "\uffff"]);
  expect(params.getAll("a")).toEqual(["3", "0"]);
});

test("iterators see what is added while they run", () => {
  const params = new Ours("a=1");
  const seen: string[] = [];
  for (const [key] of params) {
    seen.push(key);
    if (seen.length < 3) params.append(`n${seen.length}`, "");
  }
  expect(seen).toEqual(["a", "n1", "n2"]);
});

test("forEach gives value, name, and the parameters", () => {
  const params = new Ours("a=1&b=2");
  const seen: unknown[] = [];
  params.forEach(function (this: unknown, item, key, all) {
    seen.push([item, key, all === params, this]);
  }, "self");
  expect(seen).toEqual([
    ["1", "a", true, "self"],
    ["2", "b", true, "self"],
  ]);
  expect(() => params.forEach(5 as never)).toThrow(TypeError);
});

test("iterators are iterable, named, and shared between entries and the object itself", () => {
  const iterator = new Ours("a=1").entries();
  expect(Object.prototype.toString.call(iterator)).toBe("[object URLSearchParams Iterator]");
  expect(Reflect.get(iterator, Symbol.iterator).call(iterator)).toBe(iterator);
  expect(Ours.prototype[Symbol.iterator]).toBe(Reflect.get(Ours.prototype, "entries"));
  expect(Object.hasOwn(Object.getPrototypeOf(iterator) as object, "constructor")).toBe(false);
  expect(() => Reflect.get(Object.getPrototypeOf(iterator), "next").call({})).toThrow(TypeError);
});

test("pairs that are no pairs are refused, and so are missing arguments", () => {
  for (const init of [[["a"]], [["a", "b", "c"]], ["ab"], [5]])
    expect(() => new Ours(init as never)).toThrow(TypeError);
  expect(() => new Ours({ [Symbol("s")]: "1" } as never)).toThrow(TypeError);
  for (const method of ["get", "has", "delete", "getAll", "append", "set"]) {
    expect(() => Reflect.apply(Reflect.get(Ours.prototype, method) as () => void, new Ours(), [])).toThrow(TypeError);
  }
  expect(new Ours(null as never).toString()).toBe("null=");
  expect(new Ours(undefined).toString()).toBe("");
});

test("it works in a frozen isolate", async () => {
  const result = await inIsolate(
    `const params = new URLSearchParams({ a: "1 &", toString: "x" });
    params.append("a", "\\ud800");
    return [params.toString(), [...params], params.values().toArray()];`,
    { frozen: true },
  );
  expect(result).toEqual([
    "a=1+%26&toString=x&a=%EF%BF%BD",
    [
      ["a", "1 &"],
      ["toString", "x"],
      ["a", "\ufffd"],
    ],
    ["1 &", "x", "\ufffd"],
  ]);
});
