import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createEngine, defineCapability, type Engine, type ToolDefinition } from "../../../src/glovebox/index.ts";
import { createServer, type Server } from "../../../src/server/http/server.ts";
import { launch, part, violationsOf, visit } from "./harness.ts";

const HOSTILE = '<img src=x onerror="window.wasRun=true">';
/** More than fit into two pages of the list. */
const CALLS = 450;

const TOOLS: readonly ToolDefinition[] = [
  { name: "add", description: "Adds.", source: "export default ({ a, b }) => { console.log('adds'); return a + b; };" },
  {
    name: "asks",
    description: "Asks for something outside.",
    source: "export default async ({ a }, { host }) => [a, await host.gate.ask({}), Math.random()];",
    capabilities: { gate: true },
  },
  {
    name: "work",
    description: "Asks for this and that.",
    source: `export default async ({ text }, { host }) => {
      await host.gate.pass({ text: "first" });
      await host.tools.call("add", { a: 1, b: 2 });
      await host.fetch("http://denied.example/a?b=c");
      return text;
    };`,
    inputSchema: { type: "object", properties: { text: { type: "string" }, count: { type: "integer" } } },
    capabilities: { gate: true, tools: ["add"], fetch: { origins: ["http://denied.example"] } },
  },
];

let browser: Browser;
/** How often a tool has asked for something outside. */
let asked = 0;
let engine: Engine;
let server: Server;

beforeAll(async () => {
  const gate = defineCapability({
    name: "gate",
    methods: { pass: { handler: () => "passed" }, ask: { handler: () => ++asked } },
  });
  engine = await createEngine({
    workers: 1,
    executor: "threads",
    tools: [...TOOLS],
    capabilities: [gate],
    policy: { rules: [{ allow: { gate: true, tools: ["add"] } }] },
    calls: { path: ":memory:", keep: "everything" },
  });
  [browser, server] = await Promise.all([launch(), createServer(engine, { port: 0, drainMs: 0 })]);
  await engine.execute({ id: "long", name: "add", arguments: { a: "1915883588174806058", b: HOSTILE } });
  for (let at = 0; at < CALLS; at++) {
    await engine.execute(
      { id: `add-${at}`, name: "add", arguments: { a: at, b: 1 } },
      { tenant: at % 3 === 0 ? "acme" : "beta" },
    );
  }
  await engine.execute({ id: "work-1", name: "work", arguments: { text: HOSTILE } }, { tenant: "acme" });
}, 300_000);
afterAll(() => Promise.all([browser.close(), server.close()]));

const TO_THE_END = 'document.querySelector(".call-box")?.scrollTo(0, 1e9)';
const rows = (page: Page) => part(page, "Past calls").locator("tr[aria-rowindex]");

/** Has a page's lists be of so many calls, in parts of 5,000; answers with where later parts began. */
async function inventRows(page: Page, count: number): Promise<number[]> {
  const call = { version: "1", tenant: "t", parentId: null, code: "ok", error: null, queueMs: 0, wallMs: 1 };
  const asked: number[] = [];
  await page.route(/\/v1\/calls\?/, (route) => {
    const at = Number(new URL(route.request().url()).searchParams.get("cursor") ?? "0");
    if (at > 0) asked.push(at);
    const end = Math.min(count, at + 5_000);
    const calls = Array.from({ length: end - at }, (_, index) => ({
      id: `c${at + index}`,
      tool: "t",
      beginMs: at + index,
      ...call,
    }));
    return route.fulfill({ json: { calls, cursor: end < count ? String(end) : null } });
  });
  return asked;
}

/** The median time between two frames while the list is scrolled by five rows with each of them. */
async function medianFrameMs(page: Page): Promise<number> {
  const times = await page.evaluate<readonly number[]>(`(async () => {
    const element = document.querySelector(".call-box");
    const times = [];
    let before = await new Promise(requestAnimationFrame);
    for (let frame = 0; frame < 120; frame++) {
      element.scrollTop = (element.scrollTop + 5 * 36) % (element.scrollHeight - element.clientHeight);
      const now = await new Promise(requestAnimationFrame);
      times.push(now - before);
      before = now;
    }
    return times;
  })()`);
  return times.toSorted((a, b) => a - b)[times.length / 2] ?? NaN;
}

describe("past calls", () => {
  test("are filtered by what the address says, and the address says what is filtered", async () => {
    await using visited = await visit(browser, `${server.url}/#/calls?tenant=acme&tool=work`);
    const { page, complaints } = visited;
    await part(page, "Past calls").getByText("1 call", { exact: true }).waitFor();
    expect(await rows(page).nth(1).textContent()).toMatch(/workcapability_denied.*acme/);
    await page.getByRole("button", { name: "Remove the filter Tool" }).click();
    await part(page, "Past calls").getByText("152 calls", { exact: true }).waitFor();
    expect(page.url()).toBe(`${server.url}/#/calls?tenant=acme`);
    await page.keyboard.press("f");
    await page.keyboard.type("Outcome");
    await page.keyboard.press("Tab");
    await page.keyboard.type("ok");
    await page.keyboard.press("Enter");
    await part(page, "Past calls").getByText("151 calls", { exact: true }).waitFor();
    expect(page.url()).toBe(`${server.url}/#/calls?tenant=acme&code=ok`);
    await page.goBack();
    await part(page, "Past calls").getByText("152 calls", { exact: true }).waitFor();
    expect(complaints).toEqual([]);
  });

  test("are loaded as one scrolls, and only those are drawn that can be seen", async () => {
    await using visited = await visit(browser, `${server.url}/#/calls?tool=add`);
    const { page } = visited;
    await part(page, "Past calls")
      .getByText(/, and older ones$/)
      .waitFor();
    await expect
      .poll(async () => {
        await page.evaluate(TO_THE_END);
        return part(page, "Past calls").getByText("452 calls", { exact: true }).count();
      })
      .toBe(1);
    expect(await rows(page).count()).toBeLessThan(70);
    await expect
      .poll(async () => {
        await page.evaluate(TO_THE_END);
        return rows(page).last().getAttribute("aria-rowindex");
      })
      .toBe("453");
  });

  test("that end meanwhile are counted, spoken of, and shown on demand", async () => {
    await using visited = await visit(browser, `${server.url}/#/calls?tool=add&tenant=new`);
    const { page } = visited;
    await page.getByText("No call matches.").waitFor();
    await engine.execute({ name: "add", arguments: { a: 1, b: 1 } }, { tenant: "new" });
    await engine.execute({ name: "add", arguments: { a: 1, b: 1 } }, { tenant: "other" });
    await page.getByRole("button", { name: "1 new" }).click();
    await part(page, "Past calls").getByText("1 call", { exact: true }).waitFor();
    await expect.poll(() => page.locator('p[aria-live="polite"]').textContent()).toBe("1 new call");
  });

  test("filters are saved under a name, and found again by whoever opens the page anew", async () => {
    await using visited = await visit(browser, `${server.url}/#/calls?tenant=acme&tool=work`);
    const { page } = visited;
    await page.getByLabel("Name of the view").fill("work of acme");
    await page.keyboard.press("Enter");
    await page.goto(`${server.url}/#/calls`);
    await page.reload();
    const views = page.getByRole("list", { name: "Saved views" });
    await views.getByRole("link", { name: "work of acme" }).click();
    await part(page, "Past calls").getByText("1 call", { exact: true }).waitFor();
    expect(page.url()).toBe(`${server.url}/#/calls?tool=work&tenant=acme`);
    expect(await violationsOf(page)).toEqual([]);
    await page.getByRole("button", { name: "Remove the view work of acme" }).click();
    await page.reload();
    await page.getByLabel("Name of the view").waitFor();
    expect(await views.count()).toBe(0);
  });

  test("are replayed as the list shows them, and those are named whose replays are not the same", async () => {
    for (const [a, name] of ["add", "add", "nothing"].entries()) {
      await engine.execute({ name, arguments: { a, b: 1 } }, { tenant: "again" });
    }
    await using visited = await visit(browser, `${server.url}/#/calls?tenant=again`);
    const { page, complaints } = visited;
    await page.getByRole("button", { name: "Replay the newest 3 calls" }).click();
    await page.getByText("2 of 3 replays the same").first().waitFor();
    const others = page.getByRole("table", { name: "Replays that are not the same" }).getByRole("row");
    expect(await others.count()).toBe(2);
    expect(await others.nth(1).textContent()).toMatch(/nothing.*/);
    expect(await violationsOf(page)).toEqual([]);
    expect(complaints.filter((line) => !line.includes("status of 4"))).toEqual([]);
  });

  test("are replayed the same, 50 of them, and nothing outside is asked again", async () => {
    for (let a = 0; a < 50; a++) await engine.execute({ name: "asks", arguments: { a } }, { tenant: "fifty" });
    expect(asked).toBe(50);
    await using visited = await visit(browser, `${server.url}/#/calls?tenant=fifty`);
    const { page } = visited;
    await page.getByRole("button", { name: "Replay the newest 50 calls" }).click();
    await page.getByText("50 of 50 replays the same").first().waitFor();
    expect(asked).toBe(50);
  });

  test("of a tool are on its page, with how long they take", async () => {
    await using visited = await visit(browser, `${server.url}/#/tools/add`);
    const calls = part(visited.page, "Last calls");
    await calls.getByText(/^p50 [\d.]+ (?:µs|ms), p99 [\d.]+ (?:µs|ms) of the last 200 calls that ran$/).waitFor();
    expect(await calls.getByRole("row").count()).toBe(21);
  });

  test("a list of 100,000 rows draws its frames as a list of 100 does, wherever it is", async () => {
    await using visited = await visit(browser, server.url);
    const { page } = visited;
    await inventRows(page, 100);
    await page.evaluate("location.hash = '#/calls'");
    await page.getByText("100 calls", { exact: true }).waitFor();
    const shortMs = await medianFrameMs(page);
    await page.unrouteAll();
    const asked = await inventRows(page, 100_000);
    await page.evaluate("location.hash = '#/'");
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    await page.evaluate("location.hash = '#/calls'");
    await expect
      .poll(
        async () => {
          await page.evaluate(TO_THE_END);
          return page.getByText("100000 calls", { exact: true }).count();
        },
        { timeout: 120_000, interval: 20 },
      )
      .toBe(1);
    expect(asked).toHaveLength(19);
    // All rows of it take seconds for a frame.
    expect((await medianFrameMs(page)) / shortMs).toBeLessThan(20);
    const drawn = await page.evaluate<readonly number[]>(`(async () => {
      const element = document.querySelector(".call-box");
      const counts = [];
      for (let frame = 0; frame < 40; frame++) {
        element.scrollTop = (frame * 997 * 36) % element.scrollHeight;
        await new Promise(requestAnimationFrame);
        await new Promise(requestAnimationFrame);
        const { top, bottom } = element.getBoundingClientRect();
        const rows = [...element.querySelectorAll("tbody tr[aria-rowindex]")].map((row) => row.getBoundingClientRect());
        const isFull = rows.some((row) => row.top <= top + 40) && rows.some((row) => row.bottom >= bottom - 40);
        counts.push(isFull ? rows.length : 0);
      }
      return counts;
    })()`);
    expect(Math.max(...drawn)).toBeLessThan(70);
    expect(Math.min(...drawn)).toBeGreaterThan(10);
    // Rows that were far away are not in memory any more, and are loaded again.
    asked.length = 0;
    await page.evaluate('document.querySelector(".call-box").scrollTop = 52_003 * 36');
    await page.locator('a[href="#/calls/c52010"]').waitFor();
    expect(new Set(asked).size).toBeLessThan(19);
  });
});

describe("one past call", () => {
  test("shows what it did and when, with what was denied in its place", async () => {
    await using visited = await visit(browser, `${server.url}/#/calls/work-1`);
    const { page, complaints } = visited;
    const timeline = part(page, "Timeline").getByRole("group", { name: "Timeline" });
    await timeline.getByRole("button", { name: "Call of add" }).waitFor();
    const names = await timeline.getByRole("button").allTextContents();
    expect(names[0]).toBe("Waiting");
    expect(names.filter((name) => !["Waiting", "Starting", "Computing"].includes(name))).toEqual([
      "gate.pass",
      "Call of add",
      "fetch.request",
    ]);
    // The denied one is chosen.
    const facts = page.locator(`dl[aria-label^="fetch"]`);
    expect(await facts.textContent()).toContain("http://denied.example/a");
    expect(await facts.textContent()).not.toContain("b=c");
    await timeline.getByRole("button", { name: "Call of add" }).click();
    await page.locator('dl[aria-label="Call of add"]').getByRole("link").click();
    await page.getByRole("heading", { name: /^Call of add/ }).waitFor();
    await page.getByRole("link", { name: "The call that made it" }).click();
    await page.getByRole("heading", { name: /^Call of work/ }).waitFor();
    expect(complaints).toEqual([]);
  });

  test("has what it was given, wrote and gave, each at its address, as text", async () => {
    await using visited = await visit(browser, `${server.url}/#/calls/long?tab=arguments`);
    const { page } = visited;
    await page.getByRole("group", { name: "Arguments" }).getByText("1915883588174806058").waitFor();
    await page.getByRole("tab", { name: "Arguments" }).press("ArrowRight");
    await page.getByRole("list", { name: "Logs" }).getByText("adds").waitFor();
    expect(page.url()).toContain("tab=logs");
    await page.getByRole("tab", { name: "Logs" }).press("ArrowRight");
    await page.getByText("What it may do").waitFor();
    await page.getByRole("tab", { name: "Result" }).click();
    await page.getByRole("group", { name: "Output" }).getByText(HOSTILE).waitFor();
    expect(await page.evaluate("window.wasRun")).toBeUndefined();
  });

  test("is run again with other arguments, in a form that has its own", async () => {
    await using visited = await visit(browser, `${server.url}/#/calls/work-1`);
    const { page } = visited;
    await page.getByRole("link", { name: "Run again with edits" }).click();
    const text = page.getByLabel(/^text/);
    await expect.poll(() => text.inputValue()).toBe(HOSTILE);
    await text.fill("other");
    await page.keyboard.press("Control+Enter");
    await part(page, "Result").getByText("capability_denied", { exact: true }).waitFor();
    await part(page, "Result").getByRole("link", { name: "Open the call" }).click();
    await page.getByRole("heading", { name: /^Call of work/ }).waitFor();
  });

  test("leads to its neighbours in the list and back, by keys", async () => {
    await using visited = await visit(browser, `${server.url}/#/calls?tenant=acme`);
    const { page } = visited;
    await rows(page).nth(2).waitFor();
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    await expect.poll(() => page.evaluate("document.activeElement.closest('tr')?.ariaRowIndex")).toBe("3");
    const address = (await rows(page).nth(2).getByRole("link").getAttribute("href")) ?? "";
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: /^Call of/ }).waitFor();
    expect(page.url()).toBe(server.url + "/" + address);
    await page.keyboard.press("[");
    await expect.poll(() => page.url()).not.toBe(server.url + "/" + address);
    await page.keyboard.press("]");
    await expect.poll(() => page.url()).toBe(server.url + "/" + address);
    await page.locator("h1", { hasText: "Call of" }).waitFor();
    await page.keyboard.press("e");
    await page.getByText("What it may do").waitFor();
    await page.keyboard.press("Escape");
    await expect.poll(() => page.url()).toBe(`${server.url}/#/calls?tenant=acme`);
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keys" }).getByText("Add a filter").waitFor();
    expect(await violationsOf(page)).toEqual([]);
  });

  test("is replayed without its effects, and compared with the last that went well", async () => {
    await using visited = await visit(browser, `${server.url}/#/calls/add-7`);
    const { page, complaints } = visited;
    await page.getByRole("button", { name: "Replay" }).click();
    await part(page, "Comparison").getByText("The replay is same.").waitFor();
    await page.keyboard.press("d");
    await part(page, "Comparison").getByText("The calls differ.").waitFor();
    expect(page.url()).toContain("with=add-6");
    const differences = part(page, "Comparison").getByRole("row");
    expect(await differences.nth(1).textContent()).toBe("/output87");
    expect(await violationsOf(page)).toEqual([]);
    expect(complaints).toEqual([]);
  });

  test("that there is not is told as that", async () => {
    await using visited = await visit(browser, `${server.url}/#/calls/nobody`);
    await visited.page.getByText("there is no such call.").waitFor();
  });
});

test("axe finds nothing wrong with past calls", async () => {
  for (const address of ["#/calls?tenant=acme", "#/calls/work-1", "#/calls/long?tab=explanation", "#/tools"]) {
    await using visited = await visit(browser, `${server.url}/${address}`);
    await visited.page.getByRole("table").first().waitFor();
    expect(await violationsOf(visited.page)).toEqual([]);
  }
});
