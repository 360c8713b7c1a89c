import fc from "fast-check";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Server } from "../../../src/server/http/server.ts";
import { launch, part, serve, type Visit, visit } from "./harness.ts";

const TREE = {
  type: "object",
  properties: { name: { type: "string" }, child: { $ref: "#/$defs/tree" } },
  required: ["name"],
};
/** Properties of each kind, by the names of their tests' rows. */
const KINDS = {
  text: { type: "string", maxLength: 20 },
  long: { type: "string" },
  number: { type: "number" },
  whole: { type: "integer", minimum: 0 },
  tick: { type: "boolean", default: false },
  open: { type: "boolean" },
  mode: { enum: ["fast", "safe", 3, null] },
  fixed: { const: "only" },
  day: { type: "string", format: "date" },
  moment: { type: "string", format: "date-time" },
  list: { type: "array", items: { type: "integer" } },
  nested: { type: "object", properties: { street: { type: "string", maxLength: 9 }, zip: { type: "integer" } } },
  either: {
    oneOf: [
      { title: "By id", type: "object", properties: { id: { type: "integer" } }, required: ["id"] },
      { title: "By name", type: "object", properties: { name: { type: "string" } }, required: ["name"] },
    ],
  },
  maybe: { type: ["string", "null"] },
  anything: {},
  tree: { $ref: "#/$defs/tree" },
};
const ECHO = { source: "export default (input) => input;" };
const TOOLS = [
  {
    ...ECHO,
    name: "kinds",
    description: "One field of each kind.",
    inputSchema: { type: "object", properties: KINDS, $defs: { tree: TREE } },
  },
  {
    ...ECHO,
    name: "filled",
    description: "Has defaults and examples.",
    inputSchema: {
      type: "object",
      properties: {
        a: { type: "number", default: 7 },
        b: { type: "string", maxLength: 9, examples: ["for instance"] },
        tags: { type: "array", items: { type: "string" }, default: ["x"] },
      },
    },
  },
  { ...ECHO, name: "free", description: "Takes whatever there is.", inputSchema: { type: "object" } },
];

let browser: Browser;
let server: Server;
let visited: Visit;
let page: Page;

beforeAll(async () => {
  [browser, server] = await Promise.all([launch(), serve(TOOLS)]);
  visited = await visit(browser, `${server.url}/#/tools/kinds`);
  page = visited.page;
}, 300_000);
afterAll(async () => {
  await visited[Symbol.asyncDispose]();
  await Promise.all([browser.close(), server.close()]);
});

async function open(tool: string): Promise<void> {
  await page.goto("about:blank");
  await page.goto(`${server.url}/#/tools/${tool}`);
  await page.getByRole("button", { name: "Run" }).waitFor();
}

/** What the form stands for: its JSON. */
async function readJson(): Promise<unknown> {
  await page.getByRole("button", { name: "Edit as JSON" }).click();
  const text = await page.getByLabel("Arguments as JSON").inputValue();
  await page.getByRole("button", { name: "Edit as a form" }).click();
  return JSON.parse(text);
}

async function writeJson(value: unknown): Promise<void> {
  await page.getByRole("button", { name: "Edit as JSON" }).click();
  await page.getByLabel("Arguments as JSON").fill(JSON.stringify(value));
  await page.getByRole("button", { name: "Edit as a form" }).click();
}

function label(text: string) {
  return page.getByRole("main").getByLabel(new RegExp(`^${text}(?: |$)`));
}

/** What somebody does to each field, and which value it then stands for. */
const DEEDS: readonly (readonly [name: string, act: () => Promise<unknown>, value: unknown])[] = [
  ["text", () => label("text").fill("hi"), "hi"],
  ["long", () => label("long").fill("two\nlines"), "two\nlines"],
  ["number", () => label("number").fill("1.5"), 1.5],
  ["whole", () => label("whole").fill("3"), 3],
  ["tick", () => label("tick").check(), true],
  ["open", () => label("open").selectOption("false"), false],
  ["mode", () => label("mode").selectOption("3"), 3],
  ["fixed", () => label("fixed").selectOption("only"), "only"],
  ["day", () => label("day").fill("2026-02-28"), "2026-02-28"],
  ["moment", () => label("moment").fill("2026-02-28T10:20:30"), new Date("2026-02-28T10:20:30").toISOString()],
  [
    "list",
    async () => {
      for (const [at, value] of ["5", "6", "7"].entries()) {
        await page.getByRole("button", { name: "Add to list" }).click();
        await label(`list ${at + 1}`).fill(value);
      }
      await page.getByRole("button", { name: "Remove list 2" }).click();
    },
    [5, 7],
  ],
  ["nested", () => label("zip").fill("12345"), { zip: 12345 }],
  [
    "either",
    async () => {
      await label("either").selectOption("By name");
      await label("name").first().fill("Ada");
    },
    { name: "Ada" },
  ],
  ["maybe", () => label("maybe").selectOption("null"), null],
  ["anything", () => label("anything").fill('{"a": [1]}'), { a: [1] }],
];

describe("the form", () => {
  test.each(DEEDS)("has a field for the kind %s", async (name, act, value) => {
    await open("kinds");
    const before = (await readJson()) as Record<string, unknown>;
    await act();
    expect(await readJson()).toEqual({ ...before, [name]: value });
  });

  test("keeps the digits of an integer that no number holds, and so does the result", async () => {
    await open("kinds");
    await label("whole").fill("1915883588174806058");
    await page.getByRole("button", { name: "Edit as JSON" }).click();
    expect(await page.getByLabel("Arguments as JSON").inputValue()).toContain('"whole": 1915883588174806058');
    await page.getByRole("button", { name: "Edit as a form" }).click();
    expect(await label("whole").inputValue()).toBe("1915883588174806058");
    await page.getByRole("button", { name: "Run" }).click();
    await part(page, "Result").getByText("1915883588174806058", { exact: true }).waitFor();
  });

  test("leaves out what was not filled in", async () => {
    await open("kinds");
    expect(await readJson()).toEqual({ tick: false, fixed: "only" });
  });

  test("follows references, as far as a form can go", async () => {
    await open("kinds");
    await writeJson({ tree: { name: "a", child: { name: "b", child: { name: "c" } } } });
    const names = page.getByRole("group", { name: /^tree/ }).getByLabel(/^name/);
    await expect.poll(() => names.nth(2).inputValue()).toBe("c");
  });

  test("begins with the defaults, and knows the examples", async () => {
    await open("filled");
    expect(await readJson()).toEqual({ a: 7, tags: ["x"] });
    await page.getByRole("button", { name: "Fill in the example" }).click();
    expect(await readJson()).toEqual({ a: 7, b: "for instance", tags: ["x"] });
  });

  test("says what is wrong with JSON, and keeps it", async () => {
    await open("free");
    const editor = page.getByLabel("Arguments as JSON");
    await editor.fill('{"a": }');
    await page.getByText(/^This is not JSON/).waitFor();
    await editor.fill("[1]");
    await page.getByText("Arguments are an object: { … }.").waitFor();
    expect(await editor.getAttribute("aria-invalid")).toBe("true");
    await editor.fill('{"a": 1}');
    await page.getByRole("button", { name: "Run" }).click();
    await page.getByRole("group", { name: "Output" }).getByText('"a"').waitFor();
  });

  test("gives back what JSON put into it", async () => {
    await open("kinds");
    const text = fc.string({ maxLength: 9 }).filter((one) => one !== "" && !/[\r\n]/.test(one));
    const inputs = fc.record(
      {
        text,
        long: text,
        number: fc.integer().map((whole) => whole / 8),
        whole: fc.nat(),
        open: fc.boolean(),
        mode: fc.constantFrom("fast", "safe", 3, null),
        list: fc.array(fc.integer(), { minLength: 1, maxLength: 3 }),
        nested: fc.record({ street: text, zip: fc.integer() }),
        either: fc.oneof(fc.record({ name: text }), fc.record({ id: fc.integer() })),
        maybe: fc.option(text),
        anything: fc.json().map((json): unknown => JSON.parse(json)),
        unnamed: fc.integer(),
      },
      { requiredKeys: [] },
    );
    await fc.assert(
      fc.asyncProperty(inputs, async (input) => {
        const json = JSON.parse(JSON.stringify({ tick: true, fixed: "only", ...input })) as unknown;
        await writeJson(json);
        expect(await readJson()).toEqual(json);
      }),
      { numRuns: 15, endOnFailure: true },
    );
  });
});
