import { Console } from "node:console";
import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { createConsole } from "../../../../src/kernel/guest/web/console.ts";
import { inIsolate } from "./in-isolate.ts";

function record(now: () => number = () => 0) {
  const messages: [string, string][] = [];
  return { console: createConsole((level, message) => messages.push([level, message]), now), messages };
}

function nodeOutput(use: (console: Console) => void): string {
  const stdout = new PassThrough();
  use(new Console({ stdout, stderr: new PassThrough() }));
  return String(stdout.read() ?? "");
}

test("each method writes at its own level", () => {
  const { console, messages } = record();
  for (const level of ["log", "info", "warn", "error", "debug"] as const) console[level]("%s!", level);
  console.dirxml(1);
  expect(messages).toEqual([
    ["log", "log!"],
    ["info", "info!"],
    ["warn", "warn!"],
    ["error", "error!"],
    ["debug", "debug!"],
    ["log", "1"],
  ]);
});

test("methods work without their object", () => {
  const { console, messages } = record();
  const { log, count } = console;
  log("a");
  count();
  expect(messages).toEqual([
    ["log", "a"],
    ["log", "default: 1"],
  ]);
});

test("groups indent every line of what is inside", () => {
  const { console, messages } = record();
  console.group("one");
  console.log("a\nb");
  console.groupCollapsed();
  console.warn({ c: 1 });
  console.groupEnd();
  console.groupEnd();
  console.groupEnd();
  console.log("out");
  expect(messages.map(([, message]) => message)).toEqual(["one", "  a\n  b", "    { c: 1 }", "out"]);
});

test("counters count for each label until they are reset", () => {
  const { console, messages } = record();
  console.count();
  console.count("x");
  console.count("x");
  console.countReset("x");
  console.count("x");
  console.countReset("unknown");
  expect(messages).toEqual([
    ["log", "default: 1"],
    ["log", "x: 1"],
    ["log", "x: 2"],
    ["log", "x: 1"],
    ["warn", "Count for 'unknown' does not exist"],
  ]);
});

test("timers tell the time since they began", () => {
  let now = 0;
  const { console, messages } = record(() => now);
  console.time("t");
  console.time("t");
  now = 1.5;
  console.timeLog("t", "so far", { a: 1 });
  now = 62_345;
  console.timeEnd("t");
  console.timeEnd("t");
  expect(messages).toEqual([
    ["warn", "Label 't' already exists for console.time()"],
    ["log", "t: 1.5ms so far { a: 1 }"],
    ["log", "t: 1:02.345 (m:ss.mmm)"],
    ["warn", "No such label 't' for console.timeEnd()"],
  ]);
});

test("no more than a thousand labels are remembered", () => {
  const { console, messages } = record();
  for (let index = 0; index < 1_001; index += 1) console.time(`${index}`);
  expect(messages).toEqual([["warn", "Label '1000' is one too many for console.time()"]]);
  for (let index = 0; index < 1_001; index += 1) console.count(`${index}`);
  console.count("1000");
  console.count("999");
  expect(messages.slice(-2)).toEqual([
    ["log", "1000: 1"],
    ["log", "999: 2"],
  ]);
});

test("assert writes only where the condition does not hold", () => {
  const { console, messages } = record();
  console.assert(true, "no");
  console.assert(false);
  console.assert(false, "because %s", "x");
  console.assert(false, { a: 1 });
  expect(messages).toEqual([
    ["error", "Assertion failed"],
    ["error", "Assertion failed: because x"],
    ["error", "Assertion failed { a: 1 }"],
  ]);
});

test("dir takes a depth", () => {
  const { console, messages } = record();
  console.dir({ a: { b: { c: { d: 1 } } } }, { depth: 0 });
  expect(messages).toEqual([["log", "{ a: [Object] }"]]);
});

test("trace adds the stack from which it was called", () => {
  const { console, messages } = record();
  console.trace("here %d", 1);
  expect(messages[0]?.[0]).toBe("error");
  expect(messages[0]?.[1]).toMatch(/^Trace: here 1\n {4}at .*console\.test\.ts/);
});

test("messages are cut", () => {
  const { console, messages } = record();
  console.group("g".repeat(20_000));
  console.log("x".repeat(20_000));
  console.table([["y".repeat(20_000)]]);
  expect(messages.every(([, message]) => message.length <= 16_384)).toBe(true);
});

const tables: readonly (readonly [unknown, string[]?])[] = [
  [
    [
      { a: 1, b: "x" },
      { a: 2, c: { d: 1 } },
    ],
  ],
  [[1, 2]],
  [new Map([["a", 1]])],
  [new Set([1])],
  [[[1, 2], [3]]],
  [[{ a: 1, b: 2 }], ["b"]],
  [{ x: { y: 1 }, z: 3 }],
  [5],
  [[{ big: { a: 1, b: 2, c: 3 } }]],
];

test.for(tables.map((args, index) => ({ args, index })))(
  "table number $index is drawn as Node draws it",
  ({ args }) => {
    const { console, messages } = record();
    console.table(...args);
    expect(`${messages[0]?.[1]}\n`).toBe(nodeOutput((node) => node.table(...args)));
  },
);

test("a table of a proxy that throws is no exception", () => {
  const { console, messages } = record();
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  console.table(proxy);
  expect(messages).toEqual([["log", "[object that cannot be inspected]"]]);
});

test("the console works in a frozen isolate", async () => {
  const written = await inIsolate(`console.info("n: %d", 5, [1, { a: "b" }]); return messages;`, { frozen: true });
  expect(written).toEqual([["info", "n: 5 [ 1, { a: 'b' } ]"]]);
});

test("the console looks like the namespace that the Console Standard describes", async () => {
  const found = await inIsolate(
    `const prototype = Object.getPrototypeOf(console);
    return [String(console), Reflect.ownKeys(prototype), Object.getPrototypeOf(prototype) === Object.prototype, Object.isFrozen(prototype),
      [...new Set(Object.values(console).map((method) => method.length))], console.clear()];`,
  );
  expect(found).toEqual(["[object console]", [], true, true, [0], null]);
});
