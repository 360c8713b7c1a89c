// needs: redis
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createRegistry, type Registry } from "../../../src/contrib/agentspace/index.ts";
import { createEngine } from "../../../src/glovebox/index.ts";
import { createServer, type Server } from "../../../src/server/http/server.ts";
import { startFleet, type TestFleet } from "../../fleet/fleet.ts";
import { launch, part, violationsOf, visit } from "./harness.ts";

const RECORD = {
  tool_id: "weather-forecast-v1",
  tool_runtime_type: "javascript",
  tool_source_code_link: "https://tools.example/weather.js",
  tool_search_description: "Next-day weather forecasting",
  tool_tags: ["weather"],
  tool_metadata: { version: "1.0.0", author: "Ann", description: "Predicts the weather" },
  tools_api_spec: {
    input: { location: { type: "string", description: "City or region", required: true } },
    output: { said: { type: "string" } },
  },
};
const TOOLS = [
  {
    name: "ask",
    description: "Asks for an address that it is not granted.",
    source: 'export default ({ host: name }) => fetch("https://" + name + ".example/").then(({ status }) => status);',
    inputSchema: { type: "object", properties: { host: { type: "string", maxLength: 20 } }, required: ["host"] },
    capabilities: { fetch: { origins: ["https://*.example"] } },
  },
  { name: "refund", description: "Refunds.", approval: "always", source: "export default () => 1;" },
] as const;
/** 720 pixels are what a page of 1,440 has at twice its size. */
const WIDTHS = [720, 320];

let browser: Browser;
let fleet: TestFleet;
let registry: Registry;
let server: Server;
/** The id of the call that waits. */
let waiting = "";

beforeAll(async () => {
  [browser, fleet] = await Promise.all([launch(), startFleet(1, { scale: 1 })]);
  const engine = await createEngine({
    executor: { kind: "queue", url: fleet.url, fleet: fleet.name },
    tools: [...TOOLS],
    calls: { path: ":memory:", keep: "everything" },
    codeMode: { tools: ["ask"], typeCheck: "off" },
  });
  registry = await createRegistry(engine, { path: ":memory:" });
  registry.register(RECORD, { registeredBy: "key:ann" });
  server = await createServer(engine, { port: 0, drainMs: 0, admin: "open", agentspace: registry });
  await engine.execute({ id: "denied", name: "ask", arguments: { host: "a" } }, { tenant: "acme" });
  const { error } = await engine.execute({ name: "refund", arguments: {} });
  waiting = error?.code === "paused" ? (error.details?.id ?? "") : "";
}, 300_000);
afterAll(async () => {
  await Promise.all([browser.close(), server.close()]);
  await registry.close();
  await fleet[Symbol.asyncDispose]();
});

const region = (name: string) => (page: Page) => part(page, name).first();

test.each<[name: string, address: () => string, ready: (page: Page) => ReturnType<typeof part>]>([
  ["Overview", () => "", region("Latency")],
  ["Tools", () => "tools", (page) => page.getByRole("table")],
  ["Tool", () => "tools/ask", region("Last calls")],
  ["Calls", () => "calls?tenant=acme", (page) => page.getByText("1 call", { exact: true })],
  ["Call", () => "calls/denied", region("Timeline")],
  ["Approvals", () => "approvals", (page) => part(page, "Calls that wait").getByText("refund")],
  ["Call that waits", () => `approvals/${waiting}`, region("Waits")],
  ["Policy playground", () => "policy?call=denied", region("What it would do")],
  ["Program", () => "program", region("What programs may call")],
  ["Registry", () => "registry", (page) => page.getByRole("link", { name: RECORD.tool_id })],
  ["Record", () => `registry/${RECORD.tool_id}`, region("Manual page")],
  ["Fleet", () => "fleet", (page) => part(page, "Machines").getByRole("table")],
])("%s fits 720 and 320 pixels, has nothing that axe finds wrong there, and asks its server alone", async (...args) => {
  const [name, address, ready] = args;
  await using visited = await visit(browser, `${server.url}/#/${address()}`);
  const { page, requests, complaints } = visited;
  await ready(page).waitFor();
  expect(await page.title()).toMatch(/ · Glovebox$/);
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 700 });
    expect(await page.evaluate("document.documentElement.scrollWidth"), name).toBeLessThanOrEqual(width);
    expect(await violationsOf(page)).toEqual([]);
  }
  expect([...new Set(requests.map((url) => new URL(url).origin))]).toEqual([server.url]);
  expect(complaints).toEqual([]);
});
