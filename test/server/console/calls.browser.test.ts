import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { defineCapability, type ToolDefinition } from "../../../src/glovebox/index.ts";
import type { Server } from "../../../src/server/http/server.ts";
import { openModules, toolModule } from "../../kernel/tool/define/modules.ts";
import { launch, part, serve, visit } from "./harness.ts";

const HOSTILE = '<img src=x onerror="window.wasRun=true"><script>window.wasRun=true</script>';

const TOOLS: readonly ToolDefinition[] = [
  {
    name: "add",
    description: "Adds two numbers.",
    source: "export default ({ a, b }) => ({ sum: a + b });",
    inputSchema: {
      type: "object",
      properties: { a: { type: "number" }, b: { type: "number", maximum: 100 } },
      required: ["a", "b"],
    },
  },
  {
    name: "talk",
    description: "Talks while it works.",
    source: `export default async (input, { host, progress }) => {
      console.log("first line");
      console.error("second line");
      progress(1, 4, "a quarter");
      await host.gate.pass();
      return "a text";
    };`,
    capabilities: { gate: true },
  },
  { name: "throw", description: "Throws.", source: "export default () => { throw new RangeError('out of it'); };" },
  {
    name: "hostile",
    description: HOSTILE,
    tags: ["<script>window.wasRun=true</script>"],
    source: `export default ({ fail }) => {
      const text = ${JSON.stringify(HOSTILE)};
      console.log(text);
      if (fail) throw new RangeError(text);
      return { [text]: text };
    };`,
    inputSchema: {
      type: "object",
      description: HOSTILE,
      properties: {
        fail: { type: "boolean", default: false },
        [HOSTILE]: { enum: [HOSTILE], description: HOSTILE, title: HOSTILE },
      },
    },
  },
];

let browser: Browser;
let server: Server;
let pass = Promise.withResolvers<void>();

beforeAll(async () => {
  const gate = defineCapability({ name: "gate", methods: { pass: { handler: () => pass.promise } } });
  const options = { capabilities: [gate], policy: { rules: [{ allow: { gate: true } }] } };
  [browser, server] = await Promise.all([launch(), serve(TOOLS, options)]);
}, 300_000);
afterAll(async () => {
  pass.resolve();
  await Promise.all([browser.close(), server.close()]);
});

describe("a call from the page", () => {
  test("needs a keyboard and nothing else", async () => {
    await using visited = await visit(browser, server.url);
    const { page } = visited;
    await page.getByRole("link", { name: /^add/ }).waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("add");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: /^add/ }).waitFor();
    // From the heading: the switch to JSON, then the first field.
    await page.keyboard.press("Tab");
    await page.keyboard.press("Tab");
    await page.keyboard.type("2");
    await page.keyboard.press("Tab");
    await page.keyboard.type("40");
    await page.keyboard.press("Control+Enter");
    await part(page, "Result").getByText("42", { exact: true }).waitFor();
    expect(await page.locator('p[role="status"][aria-live="polite"]').textContent()).toMatch(
      /^add ended well in \S+ \S+$/,
    );
  });

  test("shows logs and progress while it runs, then what it gave, asked for and cost", async () => {
    pass = Promise.withResolvers();
    await using visited = await visit(browser, `${server.url}/#/tools/talk`);
    const { page } = visited;
    await page.getByRole("button", { name: "Run" }).click();
    const running = part(page, "Running");
    await running.getByText("second line").waitFor();
    await running.getByText("1 of 4: a quarter").waitFor();
    expect(await running.getByRole("progressbar").getAttribute("value")).toBe("1");
    pass.resolve();
    const result = part(page, "Result");
    await result.getByText("a text").waitFor();
    expect(
      await result.getByRole("group", { name: "Asked of the host" }).getByRole("row").nth(1).textContent(),
    ).toMatch(/^1gate\.passok\d/);
    expect(await result.getByRole("list", { name: "Logs" }).getByRole("listitem").allTextContents()).toEqual([
      "logfirst line",
      "errorsecond line",
    ]);
    expect(await result.locator("dt").allTextContents()).toEqual(["Waited", "Took", "Processor", "Heap", "Attempts"]);
  });

  test("can be cancelled", async () => {
    pass = Promise.withResolvers();
    await using visited = await visit(browser, `${server.url}/#/tools/talk`);
    const { page } = visited;
    await page.getByRole("button", { name: "Run" }).click();
    await page.getByText("second line").waitFor();
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.locator("main").getByText("You cancelled the call.").waitFor();
    expect(await page.getByRole("button", { name: "Run" }).isVisible()).toBe(true);
    pass.resolve();
  });

  test("is run by Ctrl+Enter, which never cancels it: Ctrl+. does", async () => {
    pass = Promise.withResolvers();
    await using visited = await visit(browser, `${server.url}/#/tools/talk`);
    const { page, requests } = visited;
    const calls = (): number => requests.filter((url) => url.endsWith("/v1/execute")).length;
    await page.getByRole("button", { name: "Run" }).focus();
    for (let press = 0; press < 3; press++) await page.keyboard.press("Control+Enter");
    await page.getByText("second line").waitFor();
    await page.keyboard.press("Control+Enter");
    expect(await page.getByRole("button", { name: "Cancel" }).isVisible()).toBe(true);
    pass.resolve();
    await part(page, "Result").getByText("a text").waitFor();
    expect(calls()).toBe(1);
    pass = Promise.withResolvers();
    await page.keyboard.press("Control+Enter");
    await part(page, "Running").getByText("second line").waitFor();
    await page.keyboard.press("Control+.");
    await page.locator("main").getByText("You cancelled the call.").waitFor();
    expect(calls()).toBe(2);
    pass.resolve();
  });

  test("that fails says why, what to do, and where", async () => {
    await using visited = await visit(browser, `${server.url}/#/tools/throw`);
    const { page } = visited;
    await page.getByRole("button", { name: "Run" }).click();
    const result = part(page, "Result");
    await result.getByText("tool_error").waitFor();
    expect(await result.getByText("RangeError: out of it").first().isVisible()).toBe(true);
    await result.getByText("Fix the tool or its input, and try it with glovebox run").waitFor();
    await result.getByText("Stack", { exact: true }).click();
    expect(await result.getByRole("group", { name: "Stack" }).textContent()).toContain("throw");
  });

  test("with wrong arguments says so at the field, and not to the server where it knows itself", async () => {
    await using visited = await visit(browser, `${server.url}/#/tools/add`);
    const { page, requests } = visited;
    await page.getByRole("button", { name: "Run" }).click();
    await page.getByText("A number is missing.").first().waitFor();
    expect(requests.filter((url) => url.endsWith("/v1/execute"))).toEqual([]);
    await page.getByLabel("a number").and(page.locator(":focus")).waitFor();
    await page.getByLabel("a number").fill("1");
    await page.getByLabel("b number").fill("1000");
    await page.keyboard.press("Enter");
    await part(page, "Result").getByText("invalid_arguments").waitFor();
    const wrong = page.getByLabel("b number");
    expect(await wrong.getAttribute("aria-invalid")).toBe("true");
    const description = (await wrong.getAttribute("aria-describedby"))?.split(" ").at(-1) ?? "";
    expect(await page.locator(`#${description}`).textContent()).toContain("/b must be <= 100");
  });

  test("is kept with those before it, to be looked at and repeated", async () => {
    await using visited = await visit(browser, `${server.url}/#/tools/add`);
    const { page } = visited;
    for (const [a, sum] of [
      ["1", "11"],
      ["2", "12"],
    ] as const) {
      await page.getByLabel("a number").fill(a);
      await page.getByLabel("b number").fill("10");
      await page.keyboard.press("Control+Enter");
      await part(page, "Result").getByText(sum, { exact: true }).waitFor();
    }
    const rows = page.getByRole("group", { name: "Earlier calls" }).getByRole("row");
    await rows.nth(2).getByRole("button", { name: "Show" }).click();
    await part(page, "Result").getByText("11", { exact: true }).waitFor();
    expect(await page.getByLabel("a number").inputValue()).toBe("1");
  });

  test("can be copied as a command that does the same", async () => {
    await using visited = await visit(browser, `${server.url}/#/tools/add`, {
      permissions: ["clipboard-read", "clipboard-write"],
    });
    const { page } = visited;
    await page.getByLabel("a number").fill("1");
    await page.getByLabel("b number").fill("2");
    await page.getByRole("button", { name: "Copy as curl" }).click();
    await page.getByText("Copied").waitFor();
    const command = await page.evaluate<string>("navigator.clipboard.readText()");
    expect(command.replaceAll(/\s*\\\n\s*/g, " ")).toBe(
      `curl -s ${server.url}/v1/execute -H 'content-type: application/json' -d '{"name":"add","arguments":{"a":1,"b":2}}'`,
    );
  });

  test("of a hostile tool shows its texts as texts, wherever they stand", async () => {
    await using visited = await visit(browser, `${server.url}/#/tools/hostile`);
    const { page, complaints, requests } = visited;
    const shown = page.getByText(HOSTILE);
    await part(page, "Schemas").getByText("Input").click();
    await page.getByRole("button", { name: "Run" }).click();
    await part(page, "Result").getByRole("listitem").getByText(HOSTILE).waitFor();
    await page.getByLabel("fail").check();
    await page.getByRole("button", { name: "Run" }).click();
    await part(page, "Result").getByText("tool_error").waitFor();
    expect(await shown.count()).toBeGreaterThan(5);
    expect(await page.evaluate("window.wasRun")).toBeUndefined();
    expect(await page.locator("main img, main script").count()).toBe(0);
    expect(requests.filter((url) => url.endsWith("/x"))).toEqual([]);
    expect(complaints).toEqual([]);
  });
});

test("a tool whose own schemas parse its arguments says so", async () => {
  await using modules = await openModules();
  const members = 'inputSchema: z.object({ a: z.string().refine((a) => a !== "b") }), run: ({ a }) => a';
  const file = await modules.write("refined.ts", toolModule("zod", "refined", members));
  await using refining = await serve([], { tools: [file] });
  await using visited = await visit(browser, `${refining.url}/#/tools/refined`);
  const schemas = part(visited.page, "Schemas");
  await schemas.getByText(/^Each call parses with the tool's own schemas, in the isolate: /).waitFor();
});
