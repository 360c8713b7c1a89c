import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createEngine } from "../../../src/glovebox/index.ts";
import { createServer, type Server } from "../../../src/server/http/server.ts";
import { launch, part, tabTo, violationsOf, visit } from "./harness.ts";

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
/** The reason for which the call `bad` has failed. */
let why = "";
beforeAll(async () => {
  const calls = { path: ":memory:", keep: "everything" } as const;
  const engine = await createEngine({ workers: 1, executor: "threads", tools: [TOOL], calls });
  [browser, server] = await Promise.all([launch(), createServer(engine, { port: 0, drainMs: 0, admin: "open" })]);
  await engine.execute({ id: "good", name: "weather", arguments: { city: "here" } }, { tenant: "acme" });
  const bad = await engine.execute({ id: "bad", name: "weather", arguments: { city: "Rome" } }, { tenant: "acme" });
  why = bad.error?.message ?? "";
  await engine.execute({ id: "other", name: "weather", arguments: { city: "Bonn" } }, { tenant: "beta" });
}, 300_000);
afterAll(() => Promise.all([browser.close(), server.close()]));

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
    // Letters are text until the focus has left the field.
    await tabTo(page, "Add");
  }
  await part(page, "Past calls").getByText("1 call", { exact: true }).waitFor();
  await page.keyboard.press("j");
  await expect.poll(() => page.evaluate("document.activeElement.hash")).toBe("#/calls/bad");
  await page.keyboard.press("Enter");
  // Which request was denied, and why.
  const denied = page.locator('dl[aria-label^="fetch"]');
  await denied.getByText("http://weather.example/Rome").waitFor();
  expect(await denied.textContent()).toContain("Rulenone grants itCodecapability_denied");
  await page.getByText(why, { exact: false }).first().waitFor();
  // The rule, tried for that call.
  await page.getByRole("button", { name: "Try it in the playground" }).waitFor();
  await tabTo(page, "Try it in the playground");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Policy playground" }).waitFor();
  expect(await page.getByLabel("Policy as YAML or JSON").inputValue()).toContain("http://weather.example");
  expect(await page.getByLabel("Id of a past call").inputValue()).toBe("bad");
  const would = part(page, "What it would do");
  const asked = would.getByRole("group", { name: "Requests of the past call" }).getByRole("row").nth(1);
  await asked.getByText("granted").waitFor();
  expect(await asked.textContent()).toBe("fetch.requesthttp://weather.example/Romegrantedpolicy.rules[0]");
  // Back by the link of the call.
  await would.getByRole("link", { name: "bad", exact: true }).waitFor();
  await tabTo(page, "bad");
  await page.keyboard.press("Enter");
  await page.getByRole("link", { name: "Run again with edits" }).waitFor();
  // Compared with the last that went well.
  await page.keyboard.press("d");
  const comparison = part(page, "Comparison");
  await comparison.getByText("The calls differ.").waitFor();
  const differences = await comparison.getByRole("row").allTextContents();
  expect(differences[0]).toBe("PlaceThis callThe other call");
  expect(differences.join("\n")).toMatch(/^\/output.*sunny$/m);
  expect(differences.join("\n")).toMatch(/^\/error.*capability_denied/m);
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
  // The second run is kept as well, and is as the last that went well.
  await tabTo(page, "Open the call");
  await page.keyboard.press("Enter");
  await page.getByRole("link", { name: "Run again with edits" }).waitFor();
  expect(page.url()).not.toContain("#/calls/bad");
  await page.keyboard.press("d");
  await comparison.getByText("Both calls are the same.").waitFor();
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
  });
});
