import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createRegistry, type Registry } from "../../../src/contrib/agentspace/index.ts";
import { createEngine } from "../../../src/glovebox/index.ts";
import { createServer, type Server } from "../../../src/server/http/server.ts";
import { launch, part, serve, violationsOf, visit } from "./harness.ts";

const HOSTILE = "<img src=x onerror=alert(1)> | # [x](javascript:alert(1))";
const CODE = `export class AgentSpaceV1Tool {
  execute({ location, days }) {
    return { said: location + " for " + days };
  }
}`;

let browser: Browser;
let server: Server;
let registry: Registry;
let folder: string;

/** A record of the code, with a version. */
const weather = (version: string) => ({
  tool_id: "weather-forecast-v1",
  tool_runtime_type: "javascript",
  tool_source_code_link: join(folder, "function.js"),
  tool_search_description: "Next-day weather forecasting",
  tool_tags: ["weather"],
  tool_metadata: { version, author: HOSTILE, description: "Predicts the weather" },
  tools_api_spec: {
    input: {
      location: { type: "string", description: "City or region", required: true },
      days: { type: "integer", min: 1, max: 30, default: 7, description: HOSTILE },
    },
    output: { said: { type: "string" } },
  },
});

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "glovebox-console-"));
  writeFileSync(join(folder, "function.js"), CODE);
  const engine = await createEngine({ workers: 1, executor: "threads" });
  registry = await createRegistry(engine, { path: ":memory:" });
  registry.register(weather("1.0.0"), { registeredBy: "key:ann" });
  registry.register(weather("1.1.0"), { registeredBy: "key:ben", replace: true });
  for (let at = 0; at < 120; at++) registry.register({ ...weather("1.0.0"), tool_id: `filler-${at}` });
  registry.register({ ...weather("2.0.0"), tool_id: "greeting", tool_search_description: "Greets a person" });
  [browser, server] = await Promise.all([
    launch(),
    createServer(engine, { port: 0, drainMs: 0, agentspace: registry }),
  ]);
}, 300_000);
afterAll(async () => {
  await Promise.all([browser.close(), server.close()]);
  await registry.close();
  rmSync(folder, { recursive: true });
});

test("the registry is listed in pages and searched", async () => {
  await using visited = await visit(browser, server.url);
  const { page, complaints } = visited;
  await page.getByRole("link", { name: "Registry" }).click();
  await page.getByText("100 tools, and more").first().waitFor();
  await page.getByRole("button", { name: "Show more" }).click();
  await page.getByText("122 tools").first().waitFor();
  await page.getByLabel("Search the registry").fill("greets somebody");
  await page.getByText("1 tool", { exact: true }).first().waitFor();
  expect(await part(page, "Tools of AgentSpace").getByRole("link").allTextContents()).toEqual(["greeting"]);
  expect(await violationsOf(page)).toEqual([]);
  expect(complaints).toEqual([]);
});

test("a record shows its manual page, by whom and when it was registered, and its versions; its tool is called", async () => {
  await using visited = await visit(browser, `${server.url}/#/registry/weather-forecast-v1`);
  const { page, complaints } = visited;
  const manual = part(page, "Manual page");
  await manual.waitFor();
  expect(await manual.getByRole("heading", { level: 3 }).allTextContents()).toEqual(["Input", "Output"]);
  expect(await manual.getByRole("listitem").allTextContents()).toContain(`Author: ${HOSTILE}`);
  const row = manual.getByRole("row", { name: /^days/ });
  expect(await row.getByRole("cell").allTextContents()).toEqual([
    "days",
    "integer",
    "no",
    `${HOSTILE}; at least 1, at most 30, default 7`,
  ]);
  expect(await page.locator("header.stack").textContent()).toMatch(/revision 2, by key:ben, registered .+/);
  const versions = part(page, "Versions").getByRole("row");
  expect(await versions.nth(1).textContent()).toMatch(/^21\.1\.0key:ben.*in force$/);
  expect(await versions.nth(2).textContent()).toMatch(/^11\.0\.0key:ann/);
  await page.getByLabel("location").fill("Rome");
  await page.getByRole("button", { name: "Run" }).click();
  await page.locator("section.result").getByText("Rome for 7").waitFor();
  expect(await page.locator("img[src=x]").count()).toBe(0);
  expect(await violationsOf(page)).toEqual([]);
  expect(complaints).toEqual([]);
});

test("a record that is not there is told, and a server without a registry has no link to it", async () => {
  await using visited = await visit(browser, `${server.url}/#/registry/none`);
  await visited.page.getByText('there is no tool "none".').waitFor();
  await using without = await serve([]);
  await using other = await visit(browser, without.url);
  expect(await other.page.getByRole("link", { name: "Registry" }).count()).toBe(0);
});
