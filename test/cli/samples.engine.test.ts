import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createEngine, type Engine, type Progress, type ToolResult } from "../../src/glovebox/index.ts";
import { sampleCapabilities, samplePolicy } from "../../src/cli/samples.ts";

const FOLDER = fileURLToPath(new URL("../../fixtures/tools", import.meta.url));

type Arguments = Record<string, unknown>;

/** One wrong call for every sample; each has to be told which argument is wrong. */
const WRONG: readonly (readonly [name: string, args: Arguments, where: RegExp])[] = [
  ["add", { a: 1, b: "2" }, /\/b/],
  ["convert-currency", { amount: 1, from: "euro", to: "USD" }, /\/from/],
  ["countdown", { from: 0 }, /\/from/],
  ["csv-to-json", { csv: "a", delimiter: "ab" }, /\/delimiter/],
  ["date-math", { date: "tomorrow", days: 1 }, /\/date/],
  ["generate-password", { length: 4 }, /\/length/],
  ["hash-text", { text: "a", algorithm: "MD5" }, /\/algorithm/],
  ["json-diff", { before: 1 }, /after/],
  ["markdown-to-html", { markdown: null }, /\/markdown/],
  ["prime-table", { upTo: 1.5 }, /\/upTo/],
  ["run-script", { code: 1 }, /\/code/],
  ["slugify", { text: "a", separator: "/" }, /\/separator/],
  ["template-render", { template: "a", data: { "not a name": 1 } }, /not a name/],
  ["text-stats", { text: "a", top: -1 }, /\/top/],
];

describe.each(["process", "threads"] as const)("the sample tools in the executor %s", (executor) => {
  let engine: Engine;

  beforeAll(async () => {
    engine = await createEngine({
      tools: [FOLDER],
      executor,
      // One worker, so that what a shared module remembers is there for the next call.
      workers: 1,
      capabilities: sampleCapabilities,
      policy: samplePolicy,
    });
  });

  afterAll(async () => {
    await engine.close();
  });

  const call = (name: string, args: Arguments): Promise<ToolResult> => engine.execute({ name, arguments: args });

  const output = async (name: string, args: Arguments): Promise<unknown> => {
    const result = await call(name, args);
    expect(result.error).toBeNull();
    return result.output;
  };

  test("are all there, each with what it says of itself, at the isolation it asks for", () => {
    const infos = engine.list();
    expect(infos.map(({ name }) => name)).toEqual(WRONG.map(([name]) => name));
    for (const info of infos) {
      expect(info.version).toBe("1.0.0");
      expect(info.tags.length).toBeGreaterThan(0);
      expect(info.outputSchema).not.toBeNull();
      expect(info.isolationReason).toBeUndefined();
    }
    const levels = Object.fromEntries(infos.map(({ name, isolation }) => [name, isolation]));
    expect(levels).toMatchObject({
      add: "instance",
      "prime-table": "shared",
      "template-render": "context",
      "run-script": "isolate",
    });
  });

  test.each(WRONG)("%s refuses wrong arguments and says which", async (name, args, where) => {
    const { success, error, metadata } = await call(name, args);
    expect(success).toBe(false);
    expect(error?.code).toBe("invalid_arguments");
    expect(error?.message).toMatch(where);
    expect(metadata.attempts).toBe(0);
  });

  test("add adds", async () => {
    expect(await output("add", { a: 2, b: 40 })).toEqual({ sum: 42 });
    expect(await output("add", { a: -0.5, b: 0.25 })).toEqual({ sum: -0.25 });
  });

  test("text-stats counts in languages with and without spaces", async () => {
    expect(await output("text-stats", { text: "The cat saw the dog. Did the dog see? 👩‍👩‍👧", top: 2 })).toEqual({
      characters: 39,
      words: 9,
      sentences: 3,
      readingMinutes: 0,
      topWords: [
        { word: "the", count: 3 },
        { word: "dog", count: 2 },
      ],
    });
    expect(await output("text-stats", { text: "你好世界。", locale: "zh" })).toMatchObject({ words: 2, sentences: 1 });
    expect(await output("text-stats", { text: "word ".repeat(2_300) })).toMatchObject({ readingMinutes: 10 });
  });

  test("markdown-to-html renders tables and emphasis", async () => {
    const markdown = "# Hi *you*\n\n| a | b |\n|---|--:|\n| 1 | `2` |\n";
    const { html } = (await output("markdown-to-html", { markdown })) as { html: string };
    expect(html).toContain("<h1>Hi <em>you</em></h1>");
    expect(html).toContain('<td align="right"><code>2</code></td>');
  });

  test("markdown-to-html lets neither tags nor script links through, unless it is told to trust", async () => {
    const markdown =
      "<b onclick=x>b</b> [l](javascript:alert(1)) <javascript:alert(2)> ![i](data:text/html,x) [w](docs/a)";
    expect(await output("markdown-to-html", { markdown })).toEqual({
      html:
        '<p>&lt;b onclick=x&gt;b&lt;/b&gt; <a href="#">l</a> <a href="#">javascript:alert(2)</a> ' +
        '<img src="#" alt="i"> <a href="docs/a">w</a></p>\n',
    });
    expect(await output("markdown-to-html", { markdown: "<b>b</b>", trusted: true })).toEqual({
      html: "<p><b>b</b></p>\n",
    });
  });

  test("csv-to-json reads quoted delimiters, quotes and line breaks, and tells how much it read", async () => {
    const result = await call("csv-to-json", { csv: 'name,quote\r\nAda,"say ""hi"",\nnow"\r\nBob,\r\n' });
    expect(result.output).toEqual({
      rows: [
        { name: "Ada", quote: 'say "hi",\nnow' },
        { name: "Bob", quote: "" },
      ],
    });
    expect(result.metadata.logs).toEqual([{ level: "info", message: "read 2 records" }]);
  });

  test("csv-to-json takes other delimiters, and lists where there is no header", async () => {
    expect(await output("csv-to-json", { csv: "1;2;\n3;4;5", delimiter: ";", header: false })).toEqual({
      rows: [
        ["1", "2", ""],
        ["3", "4", "5"],
      ],
    });
    expect(await output("csv-to-json", { csv: "" })).toEqual({ rows: [] });
  });

  test("csv-to-json says in which line a quote is not closed", async () => {
    const { error } = await call("csv-to-json", { csv: 'a,b\n1,"2' });
    expect(error).toMatchObject({
      code: "tool_error",
      type: "SyntaxError",
      message: expect.stringContaining("line 2"),
    });
  });

  test("convert-currency asks the host for the rate, and rounds as the currency does", async () => {
    expect(await output("convert-currency", { amount: 10, from: "EUR", to: "USD" })).toMatchObject({
      amount: 12.5,
      rate: 1.25,
    });
    expect(await output("convert-currency", { amount: 1.999, from: "EUR", to: "JPY" })).toMatchObject({ amount: 320 });
    const unknown = await call("convert-currency", { amount: 1, from: "EUR", to: "XXX" });
    expect(unknown.error?.code).toBe("capability_failed");
  });

  test("convert-currency is refused what the call does not pass on", async () => {
    const given = { name: "convert-currency", arguments: { amount: 1, from: "EUR", to: "USD" } };
    const { error } = await engine.execute(given, { capabilities: {} });
    expect(error?.code).toBe("capability_denied");
  });

  test("json-diff gives a patch whose paths are escaped", async () => {
    const before = { name: "a", list: [1, 2, 3], "x/y": { "~": 1 }, gone: null };
    const after = { name: "a", list: [1, 5], "x/y": { "~": 2 }, constructor: [] };
    expect(await output("json-diff", { before, after })).toEqual({
      equal: false,
      patch: [
        { op: "replace", path: "/list/1", value: 5 },
        { op: "remove", path: "/list/2" },
        { op: "replace", path: "/x~1y/~0", value: 2 },
        { op: "remove", path: "/gone" },
        { op: "add", path: "/constructor", value: [] },
      ],
    });
    expect(await output("json-diff", { before: [1, { a: 2 }], after: [1, { a: 2 }] })).toEqual({
      equal: true,
      patch: [],
    });
  });

  test("hash-text gives the published digests of abc", async () => {
    const hex = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    expect(await output("hash-text", { text: "abc" })).toEqual({ algorithm: "SHA-256", hex });
    expect(await output("hash-text", { text: "abc", algorithm: "SHA-1" })).toMatchObject({
      hex: "a9993e364706816aba3e25717850c26c9cd0d89d",
    });
  });

  test("generate-password gives another one each time, with a character of every set", async () => {
    const args = { length: 8, sets: ["lower", "upper", "digits", "symbols"] };
    const outputs = await Promise.all(Array.from({ length: 20 }, () => output("generate-password", args)));
    const passwords = outputs.map((each) => (each as { password: string }).password);
    expect(new Set(passwords).size).toBe(passwords.length);
    for (const password of passwords) {
      expect(password).toHaveLength(8);
      for (const set of [/[a-z]/, /[A-Z]/, /[0-9]/, /[^a-zA-Z0-9]/]) expect(password).toMatch(set);
    }
  });

  test("date-math skips weekends and holidays, also backwards", async () => {
    expect(await output("date-math", { date: "2024-02-28", days: 2 })).toEqual({
      date: "2024-03-01",
      weekday: "Friday",
      calendarDays: 2,
    });
    const holidays = ["2026-12-25"];
    expect(await output("date-math", { date: "2026-12-24", days: 2, businessDays: true, holidays })).toMatchObject({
      date: "2026-12-29",
      weekday: "Tuesday",
    });
    expect(await output("date-math", { date: "2026-12-29", days: -2, businessDays: true, holidays })).toMatchObject({
      date: "2026-12-24",
      calendarDays: -5,
    });
  });

  test("date-math knows which days there are", async () => {
    const { error } = await call("date-math", { date: "2026-02-30", days: 1 });
    expect(error).toMatchObject({
      code: "tool_error",
      type: "RangeError",
      message: "2026-02-30 is not in the calendar",
    });
  });

  test("countdown says how far it has come", async () => {
    const told: Progress[] = [];
    const result = await engine.execute(
      { name: "countdown", arguments: { from: 3, stepMs: 80 } },
      { onProgress: (progress) => told.push(progress) },
    );
    expect(result.output).toEqual({ steps: 3 });
    expect(told[0]).toEqual({ progress: 0, total: 3, message: "3 …" });
    expect(told.at(-1)).toEqual({ progress: 3, total: 3, message: "liftoff" });
  });

  test("prime-table keeps its table from call to call", async () => {
    expect(await output("prime-table", { upTo: 1_000_000 })).toEqual({
      count: 78_498,
      largest: 999_983,
      cached: false,
    });
    expect(await output("prime-table", { upTo: 100 })).toEqual({ count: 25, largest: 97, cached: true });
  });

  test("prime-table shares its table with no other tenant", async () => {
    const again = { name: "prime-table", arguments: { upTo: 10 } };
    const first = await engine.execute(again, { tenant: "somebody else" });
    const second = await engine.execute(again, { tenant: "somebody else" });
    expect([first, second].map((result) => result.output)).toEqual([
      { count: 4, largest: 7, cached: false },
      { count: 4, largest: 7, cached: true },
    ]);
  });

  test("template-render evaluates the template's expressions with its helpers", async () => {
    const template = "Dear ${name.title()}: ${total.money('EUR')}\n${items.bullets()}";
    const data = { name: "ada lovelace", total: 12.5, items: ["tea", "milk"] };
    expect(await output("template-render", { template, data })).toEqual({
      text: "Dear Ada Lovelace: €12.50\n- tea\n- milk",
    });
  });

  test("template-render has built-ins as new after a template that spoiled them", async () => {
    const spoil = "${(Array.prototype.map = () => 'spoilt', globalThis.kept = 1, [1].map(String))}";
    expect(await output("template-render", { template: spoil, data: {} })).toEqual({ text: "spoilt" });
    const next = "${[1, 2].map((n) => n * 2).join()} ${typeof kept}";
    expect(await output("template-render", { template: next, data: {} })).toEqual({ text: "2,4 undefined" });
  });

  test("run-script gives the value and the console of a script that waits", async () => {
    const code = "console.log('got', input); await null; return input.map((n) => n ** 2);";
    expect(await output("run-script", { code, input: [1, 2, 3] })).toEqual({
      value: [1, 4, 9],
      console: ["got [1,2,3]"],
    });
    expect(await output("run-script", { code: "" })).toEqual({ value: null, console: [] });
    expect(await output("run-script", { code: "return { big: 1n }" })).toMatchObject({ value: { big: 1 } });
  });

  test("run-script finds nothing of a server, and tells what it throws", async () => {
    const names = "[typeof process, typeof require, typeof Buffer, typeof WebAssembly]";
    expect(await output("run-script", { code: `return ${names}` })).toMatchObject({
      value: Array(4).fill("undefined"),
    });
    const fetched = await call("run-script", { code: "return fetch('https://example.com/')" });
    expect(fetched.error?.code).toBe("capability_denied");
    const { error } = await call("run-script", { code: "throw new RangeError('too much')" });
    expect(error).toMatchObject({ code: "tool_error", type: "RangeError", message: "too much" });
  });

  test("run-script is ended at its limits, and runs again after that", async () => {
    const endless = await call("run-script", { code: "for (;;);" });
    // On a busy machine the time is over before the processor time is used.
    expect(endless.error?.code).toBeOneOf(["cpu_limit", "wall_limit"]);
    const greedy = await call("run-script", { code: "const all = []; for (;;) all.push(new Array(1e5).fill(0));" });
    expect(greedy.error?.code).toBe("memory_limit");
    expect(await output("run-script", { code: "return 1" })).toMatchObject({ value: 1 });
  });

  test("slugify spells what has no plain letter, and cuts between words", async () => {
    expect(await output("slugify", { text: "Crème brûlée & Äpfel: it's 100% Straße!" })).toEqual({
      slug: "creme-brulee-and-aepfel-its-100-percent-strasse",
    });
    expect(await output("slugify", { text: "One two three", separator: "_", maxLength: 9 })).toEqual({
      slug: "one_two",
    });
    expect(await output("slugify", { text: "你好" })).toEqual({ slug: "" });
  });
});
