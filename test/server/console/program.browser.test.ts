import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ToolDefinition } from "../../../src/glovebox/index.ts";
import type { Server } from "../../../src/server/http/server.ts";
import { launch, part, serve, violationsOf, visit } from "./harness.ts";

const HOSTILE = '<img src=x onerror="window.wasRun=true"><script>window.wasRun=true</script>';

const TOOLS: readonly ToolDefinition[] = [
  { name: "math.add", description: "Adds.", source: "export default ({ a, b }) => a + b;" },
  {
    name: "fail",
    description: HOSTILE,
    source: `export default () => { throw new RangeError(${JSON.stringify(HOSTILE)}); };`,
  },
  {
    name: "wait",
    description: "Waits.",
    source: "export default () => new Promise((done) => setTimeout(done, 60_000));",
  },
  { name: "vault.read", description: "Reads.", source: "export default () => 'top';" },
];

let browser: Browser;
let server: Server;
let plain: Server;
beforeAll(async () => {
  const codeMode = { tools: ["math.*", "fail", "wait"], typeCheck: "off" as const };
  [browser, server, plain] = await Promise.all([launch(), serve(TOOLS, { codeMode }), serve(TOOLS)]);
}, 300_000);
afterAll(() => Promise.all([browser.close(), server.close(), plain.close()]));

const CODE = "Program in TypeScript";
const write = (page: Page, code: string): Promise<void> => page.getByLabel(CODE).fill(code);
const run = (page: Page): Promise<void> => page.getByRole("button", { name: "Run", exact: true }).click();
const spoken = (page: Page) => page.locator('p[role="status"][aria-live="polite"]');

test("a server without code mode has no page for programs", async () => {
  await using visited = await visit(browser, plain.url);
  expect(await visited.page.getByRole("link", { name: "Program" }).count()).toBe(0);
  await using other = await visit(browser, server.url);
  await other.page.getByRole("link", { name: "Program" }).click();
  await other.page.getByRole("heading", { name: "Program", level: 1 }).waitFor();
  expect(await other.page.title()).toBe("Program · Glovebox");
});

describe("a program on the page", () => {
  test("needs a keyboard and nothing else, and its end is spoken", async () => {
    await using visited = await visit(browser, `${server.url}/#/program`);
    const { page, complaints } = visited;
    await page.locator("h1").focus();
    await page.keyboard.press("Tab");
    await page.keyboard.press("Control+A");
    await page.keyboard.type("return (await tools.math.add({ a: 40, b: input }));");
    await page.keyboard.press("Tab");
    await page.keyboard.type("2");
    await page.keyboard.press("Control+Enter");
    await part(page, "Result").getByRole("group", { name: "Returned" }).getByText("42", { exact: true }).waitFor();
    expect(await spoken(page).textContent()).toMatch(/^The program ended well in \S+ \S+, with 1 call$/);
    expect(complaints).toEqual([]);
  });

  test("shows its calls as a waterfall beside its text, with links to tools and lines", async () => {
    await using visited = await visit(browser, `${server.url}/#/program`);
    const { page } = visited;
    await write(
      page,
      "const one = await tools.math.add({ a: 1, b: 2 });\nconsole.warn('seen', one);\ntry {\n  await tools.fail({});\n} catch {}\nreturn one;",
    );
    await run(page);
    const result = part(page, "Result");
    const rows = result.getByRole("group", { name: "Calls of tools" }).getByRole("row");
    await rows.nth(2).waitFor();
    expect(await rows.nth(0).getByRole("columnheader").allTextContents()).toEqual([
      "Tool",
      "Line",
      "Start",
      "Took",
      "Outcome",
      "Timeline",
      "Call",
    ]);
    expect(await rows.nth(1).textContent()).toMatch(/^math\.addLine 1\d.*ok\S+-\d+$/);
    expect(await rows.nth(2).textContent()).toMatch(/^failLine 4\d.*tool_error\S+-\d+$/);
    expect(await rows.nth(1).getByRole("link").getAttribute("href")).toBe("#/tools/math.add");
    // The second begins where the first has ended, or later.
    const [first, second] = await Promise.all(
      [1, 2].map((at) => rows.nth(at).locator(".timeline > span").boundingBox()),
    );
    expect(second?.x).toBeGreaterThanOrEqual((first?.x ?? 0) + (first?.width ?? Infinity) - 2);
    await rows.nth(2).getByRole("button", { name: "Line 4" }).click();
    expect(await page.evaluate("document.activeElement.textContent")).toBe("  await tools.fail({});");
    expect(await result.getByRole("list", { name: "The program" }).getByRole("listitem").count()).toBe(6);
    expect(await result.getByRole("list", { name: "Logs" }).getByRole("listitem").allTextContents()).toEqual([
      "warnseen 3",
    ]);
  });

  test("that is refused shows its mistakes, which lead to their places", async () => {
    await using visited = await visit(browser, `${server.url}/#/program`);
    const { page } = visited;
    await write(page, "const a = 1;\nconst b = ;");
    await run(page);
    await part(page, "Result").getByText("invalid_arguments", { exact: true }).waitFor();
    await page.getByRole("button", { name: "line 2, column 11" }).click();
    expect(await page.evaluate("document.activeElement.selectionStart")).toBe(23);
    expect(await part(page, "Result").getByText("None.").count()).toBe(1);
  });

  test("can be checked without being run", async () => {
    await using visited = await visit(browser, `${server.url}/#/program`);
    const { page, requests } = visited;
    await write(page, "return await tools.math.add({ a: 1, b: 1 });");
    await page.getByRole("button", { name: "Check" }).click();
    await page.getByText("no mistakes", { exact: true }).waitFor();
    await write(page, "import a from 'a';");
    await page.getByRole("button", { name: "Check" }).click();
    await page.getByRole("button", { name: "line 1, column 1" }).waitFor();
    await expect.poll(() => spoken(page).textContent()).toBe("1 mistake found");
    expect(requests.filter((url) => url.endsWith("/v1/execute"))).toEqual([]);
  });

  test("can be cancelled, and says which call had not ended", async () => {
    await using visited = await visit(browser, `${server.url}/#/program`);
    const { page } = visited;
    await write(page, "return await tools.wait({});");
    await page.getByLabel(CODE).press("Control+Enter");
    await part(page, "Running").getByText("running", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Cancel" }).click();
    await part(page, "No result").getByText("You cancelled the program.").waitFor();
    await page.getByText("Options", { exact: true }).click();
    await page.getByLabel(/^Time limit/).fill("2000");
    await run(page);
    await part(page, "Result").getByText("wall_limit", { exact: true }).first().waitFor();
    const row = part(page, "Result").getByRole("group", { name: "Calls of tools" }).getByRole("row").nth(1);
    expect(await row.textContent()).toMatch(/^waitLine 1.*(unfinished|cancelled|wall_limit)/);
  });

  test("is text wherever it stands, whatever it is", async () => {
    await using visited = await visit(browser, `${server.url}/#/program`);
    const { page } = visited;
    const text = JSON.stringify(HOSTILE);
    await write(
      page,
      `// ${HOSTILE}\nconsole.log(${text});\nawait tools[${text}]({}).catch(() => 0);\nawait tools.fail({}).catch(() => 0);\nreturn { [${text}]: ${text} };`,
    );
    await run(page);
    await part(page, "Result").getByRole("group", { name: "Calls of tools" }).getByRole("row").nth(2).waitFor();
    await write(page, `const a = ;${HOSTILE}`);
    await run(page);
    await part(page, "Result").getByText("invalid_arguments", { exact: true }).waitFor();
    expect(await page.evaluate("window.wasRun")).toBeUndefined();
    expect(await page.locator("main img, main script").count()).toBe(0);
  });

  test("and its calls are shown in part where they are very long", async () => {
    await using visited = await visit(browser, `${server.url}/#/program`);
    const { page } = visited;
    const code = `${"// a line\n".repeat(4_000)}/* ${"x".repeat(20_000)} */ for (let i = 0; i < 500; i++) await tools.math.add({ a: i, b: 1 });`;
    // Chromium takes very long to type so much.
    await page.getByLabel(CODE).evaluate((area, text) => void Object.assign(area, { value: text }), code);
    await run(page);
    const result = part(page, "Result");
    await result.getByText("The rest of the text is not shown.").waitFor();
    expect(await result.getByRole("list", { name: "The program" }).getByRole("listitem").count()).toBe(2_000);
    expect(await result.getByRole("group", { name: "Calls of tools" }).getByRole("row").count()).toBe(501);
  });
});

test("the page says what models read, and which tools programs may call and why", async () => {
  await using visited = await visit(browser, `${server.url}/#/program`);
  const { page } = visited;
  const rows = part(page, "What programs may call").getByRole("row");
  await rows.nth(4).waitFor();
  expect(await rows.allTextContents()).toEqual([
    "ToolMay be calledWhy",
    "failyescodeMode.tools[1]",
    "math.addyescodeMode.tools[0]",
    "waityescodeMode.tools[2]",
    "vault.readnono name in codeMode.tools matches it",
  ]);
  await page.getByText("Declarations", { exact: true }).click();
  await page.getByRole("group", { name: "Declarations of tools" }).getByText("add(input").waitFor();
});

test("axe finds nothing wrong with the page, its mistakes and its result, nor with little room", async () => {
  await using visited = await visit(browser, `${server.url}/#/program`);
  const { page, complaints } = visited;
  await part(page, "What programs may call").waitFor();
  expect(await violationsOf(page)).toEqual([]);
  await write(page, "const a = ;");
  await page.getByRole("button", { name: "Check" }).click();
  await page.getByText("Mistakes").waitFor();
  expect(await violationsOf(page)).toEqual([]);
  await write(page, "await tools.fail({}).catch(() => 0);\nawait tools.math.add({ a: 1, b: 2 });\ntools.fail({});");
  await run(page);
  await part(page, "Result").getByText("ok", { exact: true }).first().waitFor();
  expect(await violationsOf(page)).toEqual([]);
  await page.setViewportSize({ width: 320, height: 700 });
  expect(await violationsOf(page)).toEqual([]);
  expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(320);
  expect(complaints).toEqual([]);
});
