import fc from "fast-check";
import { expect, test } from "vitest";
import { inTool } from "./in-tool.ts";

test("names are told apart without regard to case, and iterated in lower case and in order", async () => {
  const pairs = await inTool(`
    const headers = new Headers([["B", "1"], ["a", "2"], ["b", "3"]]);
    headers.append("C-d", "4");
    return [[...headers], headers.get("B"), headers.has("A"), [...headers.keys()], [...headers.values()]];
  `);
  const entries = [
    ["a", "2"],
    ["b", "1, 3"],
    ["c-d", "4"],
  ];
  expect(pairs).toEqual([entries, "1, 3", true, ["a", "b", "c-d"], ["2", "1, 3", "4"]]);
});

test("cookies are never combined", async () => {
  const cookies = await inTool(`
    const headers = new Headers({ "set-cookie": "a=1" });
    headers.append("Set-Cookie", "b=2");
    return [[...headers], headers.getSetCookie(), headers.get("set-cookie")];
  `);
  const entries = [
    ["set-cookie", "a=1"],
    ["set-cookie", "b=2"],
  ];
  expect(cookies).toEqual([entries, ["a=1", "b=2"], "a=1, b=2"]);
});

test("an iterator sees what changes while it runs", async () => {
  const seen = await inTool(`
    const headers = new Headers({ a: "1", c: "3" });
    const seen = [];
    for (const [name] of headers) { seen.push(name); if (name === "a") headers.append("b", "2"); }
    return seen;
  `);
  expect(seen).toEqual(["a", "b", "c"]);
});

test("set puts a value in the place of all the others", async () => {
  const values = await inTool(`
    const headers = new Headers([["a", "1"], ["b", "2"], ["a", "3"]]);
    headers.set("A", "4");
    headers.delete("b");
    return [...headers];
  `);
  expect(values).toEqual([["a", "4"]]);
});

test("headers agree with Node's, whatever they are made from", async () => {
  const name = fc.oneof(fc.constantFrom("a", "B", "set-cookie", "Set-Cookie", "x-1"), fc.string({ maxLength: 3 }));
  const value = fc.oneof(fc.string({ maxLength: 5 }), fc.constantFrom(" x\t", "\u00ff", "\u0100", "a\nb", "\n"));
  const lists = fc.sample(fc.array(fc.tuple(name, value), { maxLength: 4 }), { numRuns: 500, seed: 7 });
  const read = `(init) => { try { return [...new Headers(init)]; } catch (error) { return error.name; } }`;
  const ours = await inTool(`return input.map(${read});`, lists);
  const nodes = lists.map((list) => {
    try {
      return [...new Headers(list)];
    } catch (error) {
      return (error as Error).name;
    }
  });
  expect(ours).toEqual(nodes);
});

test("what is no header is refused", async () => {
  const names = await inTool(`
    return Promise.all([
      () => new Headers(null), () => new Headers("a"), () => new Headers([["a"]]), () => new Headers([["a", "b", "c"]]),
      () => new Headers({ [Symbol("a")]: "b" }), () => new Headers().append("a b", "c"), () => new Headers().append("a"),
      () => new Headers({ a: "b\\r\\nc: d" }), () => new Headers({ "": "b" }), () => Headers(),
    ].map(thrown));
  `);
  expect(names).toEqual(Array.from({ length: 10 }, () => "TypeError"));
});

test("methods of other objects are refused, and iterators have their prototype", async () => {
  const found = await inTool(`
    const iterator = new Headers().entries();
    return [await thrown(() => Headers.prototype.get.call({}, "a")), await thrown(() => Headers.prototype.keys.call({})),
      Object.prototype.toString.call(iterator), iterator instanceof Iterator,
      Headers.prototype.entries === Headers.prototype[Symbol.iterator]];
  `);
  expect(found).toEqual(["TypeError", "TypeError", "[object Headers Iterator]", true, true]);
});
