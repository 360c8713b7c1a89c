import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createEngine } from "../../../src/glovebox/index.ts";
import { createServer, type Server } from "../../../src/server/http/server.ts";
import { launch, part, violationsOf, visit } from "./harness.ts";

const TOOL = {
  name: "weather",
  description: "Asks for the weather.",
  source: `export default async ({ city }, { host }) => {
    if (city !== "here") await host.fetch("http://weather.example/" + city);
    return "sunny";
  };`,
  inputSchema: { type: "object", properties: { city: { type: "string", maxLength: 20 } }, required: ["city"] },
  capabilities: { fetch: { origins: ["http://weather.example"] } },
};

let browser: Browser;
let server: Server;
beforeAll(async () => {
  const calls = { path: ":memory:", keep: "everything" } as const;
  const engine = await createEngine({ workers: 1, executor: "threads", tools: [TOOL], calls });
  [browser, server] = await Promise.all([launch(), createServer(engine, { port: 0, drainMs: 0, admin: "open" })]);
  await engine.execute({ id: "good", name: "weather", arguments: { city: "here" } }, { tenant: "acme" });
  await engine.execute({ id: "bad", name: "weather", arguments: { city: "Rome" } }, { tenant: "acme" });
  await engine.execute({ id: "other", name: "weather", arguments: { city: "Bonn" } }, { tenant: "beta" });
}, 300_000);
afterAll(() => Promise.all([browser.close(), server.close()]));

const focused = (page: Page) => page.evaluate<string>("document.activeElement.textContent");

/** Presses Tab until something with such a text has the focus. */
async function tabTo(page: Page, text: string): Promise<void> {
  for (let press = 0; press < 60; press++) {
    if ((await focused(page)).startsWith(text)) return;
    await page.keyboard.press("Tab");
  }
  throw new Error(`the keyboard does not reach ${text}`);
}

test("the keyboard alone leads from a failed call to the rule that it lacked, and to its second run", async () => {
  await using visited = await visit(browser, server.url);
  const { page, complaints } = visited;
  // Yesterday's failed calls of a tenant.
  await page.keyboard.press("g");
  await page.keyboard.press("c");
  await page.getByRole("heading", { name: "Calls", level: 1 }).waitFor();
  for (const [filter, value] of [
    ["Tenant", "acme"],
    ["Outcome", "capability_denied"],
    ["Since", "24h"],
  ] as const) {
    await page.keyboard.press("f");
    await expect.poll(() => page.evaluate("/^(INPUT|SELECT)$/.test(document.activeElement.tagName)")).toBe(true);
    await page.keyboard.type(filter);
    await page.keyboard.press("Tab");
    await page.keyboard.type(value);
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: `Remove the filter ${filter}` }).waitFor();
    await page.evaluate("document.activeElement.blur()");
  }
  await part(page, "Past calls").getByText("1 call", { exact: true }).waitFor();
  await page.keyboard.press("j");
  await expect.poll(() => page.evaluate("document.activeElement.hash")).toBe("#/calls/bad");
  await page.keyboard.press("Enter");
  // Which request was denied, and why.
  await page.locator('dl[aria-label^="fetch"]').getByText("http://weather.example/Rome").waitFor();
  // The rule, tried for that call.
  await page.getByRole("button", { name: "Try it in the playground" }).waitFor();
  await tabTo(page, "Try it in the playground");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Policy playground" }).waitFor();
  expect(await page.getByLabel("Policy as YAML or JSON").inputValue()).toContain("http://weather.example");
  expect(await page.getByLabel("Id of a past call").inputValue()).toBe("bad");
  await page.goBack();
  await page.getByRole("link", { name: "Run again with edits" }).waitFor();
  // Compared with the last that went well.
  await page.keyboard.press("d");
  await part(page, "Comparison").getByText("The calls differ.").waitFor();
  // Run again with other arguments.
  await tabTo(page, "Run again with edits");
  await page.keyboard.press("Enter");
  await expect.poll(() => page.getByLabel(/^city/).inputValue()).toBe("Rome");
  for (let press = 0; press < 9 && (await page.evaluate("document.activeElement.tagName")) !== "INPUT"; press++)
    await page.keyboard.press("Tab");
  await page.keyboard.press("Control+A");
  await page.keyboard.type("here");
  await page.keyboard.press("Control+Enter");
  await part(page, "Result").getByText("sunny").waitFor();
  expect(complaints.filter((line) => !line.includes("404"))).toEqual([]);
});

describe("the policy playground", () => {
  test("names the past requests that a policy would grant or deny, and by which rule; nothing is written", async () => {
    await using visited = await visit(browser, `${server.url}/#/policy?call=bad`);
    const { page } = visited;
    await page
      .getByLabel("Policy as YAML or JSON")
      .fill('rules: [{ tools: ["weather"], allow: { fetch: { origins: ["http://weather.example"] } } }]');
    const asked = part(page, "What it would do").getByRole("group", { name: "Requests of the past call" });
    await asked.getByText("granted").waitFor();
    const changes = part(page, "What it would do").getByRole("group", { name: "What would change for past calls" });
    await changes.getByRole("link", { name: "other" }).waitFor();
    expect(await changes.getByRole("row").count()).toBe(3);
    expect(await changes.getByRole("row").nth(1).textContent()).toContain("deniedgranted");
    await page.evaluate("location.hash = '#/tools/weather'");
    await page.getByText("Denied requests").waitFor();
  });

  test("names the mistakes of a policy, with their places", async () => {
    await using visited = await visit(browser, `${server.url}/#/policy`);
    const { page } = visited;
    await page.getByLabel("Policy as YAML or JSON").fill('rules:\n  - tools: ["weather"]\n    alow: {}\n');
    await page.getByRole("list", { name: "Findings" }).getByText(/alow/).waitFor();
    await page
      .getByRole("list", { name: "Findings" })
      .getByText(/Line 3/)
      .waitFor();
  });

  test("has nothing that axe finds wrong", async () => {
    await using visited = await visit(browser, `${server.url}/#/policy?call=bad`);
    const { page } = visited;
    await part(page, "What it would do").waitFor();
    expect(await violationsOf(page)).toEqual([]);
    await page.setViewportSize({ width: 320, height: 700 });
    expect(await violationsOf(page)).toEqual([]);
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(320);
  });
});
