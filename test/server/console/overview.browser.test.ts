import { setImmediate } from "node:timers/promises";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createEngine, type Engine } from "../../../src/glovebox/index.ts";
import { createServer, type Server } from "../../../src/server/http/server.ts";
import { launch, part, visit } from "./harness.ts";

const ECHO = { name: "echo", description: "Gives back what it gets.", source: "export default (input) => input;" };
/** Nothing but the end of its process ends it. */
const WEDGE = {
  name: "wedge",
  description: "Wedges its executor.",
  source: "export default () => { for (;;) [].indexOf.call({ length: 2 ** 53 - 1 }, 1); };",
  limits: { cpuMs: 20 },
};
let browser: Browser;
let engine: Engine;
let server: Server;

beforeAll(async () => {
  [browser, engine] = await Promise.all([
    launch(),
    createEngine({ workers: 1, executor: { kind: "process", sandbox: "off" }, tools: [ECHO, WEDGE] }),
  ]);
  server = await createServer(engine, { port: 0, drainMs: 0 });
}, 300_000);
afterAll(async () => {
  await Promise.all([browser.close(), server.close()]);
});

describe("the overview", () => {
  test("says how the engine is, and draws what it does", async () => {
    await using visited = await visit(browser, server.url);
    const { page, complaints } = visited;
    await page.getByText("a spare stands by").waitFor();
    await using _calls = keepCalling();
    const chart = part(page, "Calls per second");
    await expect.poll(() => chart.locator("dd").first().textContent(), { timeout: 60_000 }).toMatch(/^[1-9]/);
    expect(await page.locator(".chart svg").count()).toBe(6);
    // The line of ended calls is where calls are.
    await expect.poll(() => chart.locator("svg .line-1").getAttribute("d")).toMatch(/L120\.00 [0-9.]+$/);
    const { height = 0 } = (await chart.locator("svg .line-1").boundingBox()) ?? {};
    expect(height).toBeGreaterThan(10);
    expect(await chart.getByRole("img").getAttribute("aria-label")).toMatch(
      /^Calls per second: Ended [\d.]+.*, Failed 0$/,
    );
    await part(page, "Busiest tools").getByRole("link", { name: "echo" }).waitFor();
    await chart.getByText("As a table").click();
    await expect.poll(() => chart.getByRole("columnheader").allTextContents()).toEqual(["Time", "Ended", "Failed"]);
    expect(await chart.getByRole("row").count()).toBeGreaterThan(1);
    expect(await part(page, "Latency").getByRole("img").getAttribute("aria-label")).toMatch(/p99 [\d.]+ (?:µs|ms|s)$/);
    expect(complaints).toEqual([]);
  });

  test("names the tools in quarantine, and so does the list and the tool's own view", async () => {
    await using visited = await visit(browser, `${server.url}/#/tools/wedge`);
    const { page } = visited;
    expect(await page.getByText("This tool is in quarantine").isVisible()).toBe(false);
    await page.getByRole("button", { name: "Run" }).click();
    await part(page, "Result").getByText("cpu_limit").waitFor();
    await page.getByText("This tool is in quarantine").waitFor();
    await page.getByRole("link", { name: /^wedge quarantined/ }).waitFor();
    await page.getByRole("link", { name: "Overview" }).click();
    await part(page, "Quarantine").getByRole("link", { name: "wedge" }).waitFor();
    await expect.poll(() => page.locator(".tile").nth(4).textContent(), { timeout: 60_000 }).toMatch(/Restarts[1-9]/);
  });

  test("says what somebody has to mend, until it is", async () => {
    await using visited = await visit(browser, server.url);
    const { page } = visited;
    engine.emit("config:reload", { isApplied: false, reason: "glovebox.config.yaml:2:18: it is no number" });
    await page.getByText(/^The configuration was not reloaded at .*:2:18: it is no number$/).waitFor();
    engine.emit("config:reload", { isApplied: true });
    await page.getByText(/^The configuration was not reloaded/).waitFor({ state: "detached" });
  });

  test("says when the server is gone, and goes on when it is back", async () => {
    const second = await createEngine({ workers: 1, executor: "threads" });
    const first = await createServer(second, { port: 0, drainMs: 0 });
    await using visited = await visit(browser, first.url);
    const { page } = visited;
    await page.getByText("in the server's process").waitFor();
    await first.close();
    await page.getByText(/^No numbers at the moment/).waitFor();
    await using _again = await createServer(await createEngine({ workers: 1, executor: "threads" }), {
      port: first.port,
      drainMs: 0,
    });
    await page.getByText(/^No numbers at the moment/).waitFor({ state: "detached" });
  });

  test("asks for no numbers while nobody looks at the page", async () => {
    await using visited = await visit(browser, server.url);
    const { page } = visited;
    await page.getByText("1 stream").waitFor();
    await page.evaluate(`
      Object.defineProperty(document, "visibilityState", { value: "hidden", configurable: true });
      document.dispatchEvent(new Event("visibilitychange"));
    `);
    await expect
      .poll(async () => ((await (await fetch(`${server.url}/v1/stats`)).json()) as { http: unknown }).http, {
        timeout: 60_000,
      })
      .toMatchObject({ streams: 0 });
  });
});

/** Calls one after the other, until it is disposed of. */
function keepCalling(): AsyncDisposable {
  let isOver = false;
  const call = async (): Promise<void> => {
    while (!isOver) {
      await engine.execute({ name: "echo", arguments: {} });
      await setImmediate();
    }
  };
  const calling = call();
  return {
    [Symbol.asyncDispose]: () => {
      isOver = true;
      return calling;
    },
  };
}
