import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Server } from "../../../src/server/http/server.ts";
import { launch, part, serve, violationsOf, visit } from "./harness.ts";

const KINDS = {
  name: "kinds",
  description: "One field of most kinds.",
  tags: ["some", "tags"],
  source: `export default ({ fail, ...rest }) => {
    console.log("a line"); console.warn("a warning"); console.error("an error");
    if (fail) throw new Error("no");
    return rest;
  };`,
  isolation: "context" as const,
  capabilities: { fetch: { origins: ["https://a.example", "https://b.example"] } },
  inputSchema: {
    type: "object",
    properties: {
      title: { type: "string", maxLength: 40, description: "A short text.", examples: ["Hello"] },
      body: { type: "string" },
      count: { type: "integer", minimum: 0, maximum: 10, default: 3 },
      fail: { type: "boolean", default: false },
      mode: { enum: ["fast", "safe"] },
      day: { type: "string", format: "date" },
      tags: { type: "array", items: { type: "string" }, default: ["a"] },
      address: { type: "object", properties: { street: { type: "string" } } },
      either: { oneOf: [{ type: "integer" }, { type: "string" }] },
      other: {},
    },
    required: ["title", "either"],
  },
};

let browser: Browser;
let server: Server;

beforeAll(async () => {
  const policy = { rules: [{ allow: { fetch: { origins: ["https://a.example"] } } }] };
  [browser, server] = await Promise.all([launch(), serve([KINDS], { policy })]);
}, 300_000);
afterAll(async () => {
  await Promise.all([browser.close(), server.close()]);
});

test("axe finds nothing wrong with the overview", async () => {
  await using visited = await visit(browser, server.url);
  const { page } = visited;
  await page.getByText("in the server's process").waitFor();
  await part(page, "Latency").getByText("As a table").click();
  expect(await violationsOf(page)).toEqual([]);
});

test("axe finds nothing wrong with a tool, its form, and its results", async () => {
  await using visited = await visit(browser, `${server.url}/#/tools/kinds`);
  const { page } = visited;
  await page.getByText("Denied requests").waitFor();
  await page.getByText("Options", { exact: true }).click();
  await part(page, "Schemas").getByText("Input").click();
  expect(await violationsOf(page)).toEqual([]);
  await page.getByLabel(/^title/).fill("a");
  await page.getByRole("button", { name: "Run" }).click();
  await page.getByText("A number is missing.").waitFor();
  expect(await violationsOf(page)).toEqual([]);
  await page.getByLabel(/^integer/).fill("1");
  await page.getByRole("button", { name: "Run" }).click();
  await part(page, "Result").getByText("ok", { exact: true }).waitFor();
  expect(await violationsOf(page)).toEqual([]);
  await page.getByLabel(/^fail/).check();
  await page.getByRole("button", { name: "Run" }).click();
  await part(page, "Result").getByText("tool_error").waitFor();
  await part(page, "Result").getByText("Stack", { exact: true }).click();
  expect(await violationsOf(page)).toEqual([]);
  await page.getByRole("button", { name: "Edit as JSON" }).click();
  await page.getByLabel("Arguments as JSON").fill("{");
  expect(await violationsOf(page)).toEqual([]);
});

test("axe finds nothing wrong with the question for a key, nor with little room", async () => {
  await using visited = await visit(browser, server.url, { viewport: { width: 320, height: 700 } });
  const { page } = visited;
  await page.getByRole("button", { name: "Tools" }).click();
  await page.getByRole("link", { name: /^kinds/ }).waitFor();
  expect(await violationsOf(page)).toEqual([]);
  await page.getByRole("button", { name: "Key" }).click();
  await page.getByRole("dialog").waitFor();
  expect(await violationsOf(page)).toEqual([]);
});

test("the keyboard goes through the page as one reads it, and one sees where it is", async () => {
  await using visited = await visit(browser, `${server.url}/#/tools/kinds`);
  const { page } = visited;
  await page.getByRole("link", { name: /^kinds/ }).waitFor();
  await page.getByRole("link", { name: "Approvals" }).waitFor();
  await page.evaluate("document.activeElement.blur()");
  const names: string[] = [];
  for (let step = 0; step < 11; step++) {
    await page.keyboard.press("Tab");
    const [name, outline] = await page.evaluate<[string, string]>(`(() => {
      const { activeElement } = document;
      const { outlineStyle, outlineWidth } = getComputedStyle(activeElement);
      const name = activeElement.labels?.[0]?.textContent ?? activeElement.textContent;
      return [name, outlineStyle + " " + outlineWidth];
    })()`);
    names.push(name);
    expect(outline).toBe("solid 2px");
  }
  expect(names.map((name) => name.slice(0, 12))).toEqual([
    "Skip to the ",
    "Glovebox",
    "Key",
    "◐Theme: Syst",
    "Overview",
    "Approvals",
    "Policy",
    "Search tools",
    "kindscontext",
    "Fill in the ",
    "Edit as JSON",
  ]);
});

test("the first stop of the keyboard leads past the list", async () => {
  await using visited = await visit(browser, `${server.url}/#/tools/kinds`);
  const { page } = visited;
  await page.getByRole("button", { name: "Run" }).waitFor();
  await page.evaluate("document.activeElement.blur()");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  expect(await page.evaluate("document.activeElement.id")).toBe("main");
  await page.keyboard.press("Tab");
  expect(await page.evaluate("document.activeElement.textContent")).toBe("Fill in the example");
});

test("a result is told to those who do not see it", async () => {
  await using visited = await visit(browser, `${server.url}/#/tools/kinds`);
  const { page } = visited;
  const region = page.locator('p[aria-live="polite"]');
  await page.getByLabel(/^title/).fill("a");
  await page.getByLabel(/^integer/).fill("1");
  await page.getByLabel(/^fail/).check();
  await page.keyboard.press("Control+Enter");
  await expect.poll(() => region.textContent()).toBe("kinds failed: tool_error");
});

test("nothing moves for those who want no motion", async () => {
  const moving = `[...document.querySelectorAll("*")].filter((element) => {
    const { transitionDuration, animationName } = getComputedStyle(element);
    return transitionDuration !== "0s" || animationName !== "none";
  }).length`;
  await using still = await visit(browser, server.url, { reducedMotion: "reduce" });
  expect(await still.page.evaluate(moving)).toBe(0);
  await using other = await visit(browser, server.url, { reducedMotion: "no-preference" });
  expect(await other.page.evaluate(moving)).toBeGreaterThan(0);
});
