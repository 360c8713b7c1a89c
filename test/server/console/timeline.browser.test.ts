import type { Page } from "playwright-core";
import { expect, onTestFinished, test } from "vitest";
import {
  type CallDetail,
  type CapabilityEvent,
  createEngine,
  defineCapability,
  type Engine,
  type StoredCall,
} from "../../../src/glovebox/index.ts";
import { createServer } from "../../../src/server/http/server.ts";
import { serve } from "../../kernel/broker/capabilities/fetch/server.ts";
import { focused, launch, part, tabTo, violationsOf, visit } from "./harness.ts";

/** Asks three times, of which one is denied; its child kills the executor, so that both start again. */
const SOURCE = `export default async ({ origin }, { host }) => {
  const text = await (await fetch(origin + "/slow?secret=1")).text();
  const refused = await host.kv.get("key").catch((error) => error.code);
  const sum = await host.tools.add({ a: 1, b: 2 });
  return { text, refused, sum };
};`;
const ADD = "export default async ({ a, b }, { host }) => { await host.kill.now(); return a + b; };";
const SLOW_MS = 60;
/** Rows are exact to this time, and cells have three digits. */
const SLACK_MS = 5;

/** A row of the page: times in milliseconds. */
interface ShownRow {
  readonly name: string;
  readonly outcome: string;
  readonly atMs: number;
  readonly endMs: number;
}

/** The text of a cell, in milliseconds. */
function msOf(text = ""): number {
  const [, value = "", unit = ""] = /^([\d.]+) (µs|ms|s)$/.exec(text) ?? [];
  return Number(value) * ({ µs: 0.001, ms: 1, s: 1_000 }[unit] ?? NaN);
}

async function shownRows(page: Page): Promise<readonly ShownRow[]> {
  const rows = part(page, "Timeline").getByRole("row");
  await rows.getByText("Call of add").waitFor();
  const cells = await Promise.all((await rows.all()).map((row) => row.getByRole("cell").allTextContents()));
  return cells.slice(1).map(([name = "", outcome = "", start, took]) => {
    const atMs = msOf(start);
    return { name, outcome, atMs, endMs: atMs + msOf(took) };
  });
}

/** What goes on in the call, as others have seen it. Times in milliseconds of the system. */
interface Watched {
  readonly arrivedMs: number[];
  readonly answeredMs: number[];
  readonly lostMs: number[];
  readonly asks: { readonly event: CapabilityEvent; readonly heardMs: number }[];
}

async function makeCall(watched: Watched) {
  const upstream = await serve((_request, response) => {
    watched.arrivedMs.push(Date.now());
    setTimeout(() => {
      watched.answeredMs.push(Date.now());
      response.end("slow");
    }, SLOW_MS);
  });
  onTestFinished(() => upstream[Symbol.asyncDispose]());
  const { origin } = upstream;
  let kills = 0;
  /** Ends the executor once; resolves when it is lost. */
  const killAll = async (): Promise<void> => {
    if (kills++ > 0) return;
    const lost = new Promise((resolve) => engine.on("executor:lost", resolve));
    for (const pid of engine.stats().executor.groups?.flatMap(({ pids }) => pids) ?? []) process.kill(pid, "SIGKILL");
    await lost;
  };
  const capabilities = { tools: ["add"], kv: {}, fetch: { origins: [origin] } };
  const engine: Engine = await createEngine({
    workers: 1,
    executor: { kind: "process", sandbox: "off" },
    capabilities: [defineCapability({ name: "kill", methods: { now: { handler: killAll } } })],
    policy: { rules: [{ allow: { kill: true, tools: ["add"], fetch: { origins: [], privateOrigins: [origin] } } }] },
    calls: { path: ":memory:", keep: "everything" },
    tools: [
      { name: "goer", description: "Goes.", capabilities, source: SOURCE },
      { name: "add", description: "Adds.", capabilities: { kill: true }, source: ADD },
    ],
  });
  onTestFinished(() => engine.close());
  engine.on("executor:lost", () => watched.lostMs.push(Date.now()));
  engine.on("capability:call", (event) => {
    if (event.tool === "goer") watched.asks.push({ event, heardMs: Date.now() });
  });
  const result = await engine.execute({ id: "gone", name: "goer", arguments: { origin } });
  expect(result).toMatchObject({
    success: true,
    output: { text: "slow", refused: "capability_denied", sum: 3 },
  });
  return { engine, origin };
}

/** What the store has of a request, in a line. */
function lineOf({ capability, outcome, attempt, isReplayed }: CallDetail["asks"][number]): string {
  return `${attempt} ${capability} ${outcome}${isReplayed ? " again" : ""}`;
}

/** Compares both ends of the rows of requests with what the server and the events have said. */
function expectTimes(rows: readonly ShownRow[], { beginMs }: StoredCall, child: StoredCall, watched: Watched): void {
  const row = (name: string, outcome: string): ShownRow => {
    const found = rows.filter((one) => one.name === name && one.outcome === outcome);
    expect(found.map(() => `${name} ${outcome}`)).toEqual([`${name} ${outcome}`]);
    return found[0] ?? { name, outcome, atMs: NaN, endMs: NaN };
  };
  const heard = (capability: string) => watched.asks.find(({ event }) => event.capability === capability);
  const fetched = row("fetch.request", "ok");
  const denied = row("kv.get", "denied");
  const called = row("Call of add", "ok");
  const [arrivedMs = NaN] = watched.arrivedMs;
  const [answeredMs = NaN] = watched.answeredMs;
  const [lostMs = NaN] = watched.lostMs;
  expect([watched.arrivedMs.length, watched.lostMs.length]).toEqual([1, 1]);
  expect(beginMs + fetched.atMs).toBeLessThanOrEqual(arrivedMs + SLACK_MS);
  expect(beginMs + fetched.endMs).toBeGreaterThanOrEqual(answeredMs - SLACK_MS);
  for (const [shown, ask] of [
    [fetched, heard("fetch")],
    [denied, heard("kv")],
  ] as const) {
    expect(Math.abs(shown.endMs - shown.atMs - (ask?.event.durationMs ?? NaN))).toBeLessThanOrEqual(SLACK_MS);
    expect(beginMs + shown.endMs).toBeLessThanOrEqual((ask?.heardMs ?? NaN) + SLACK_MS);
  }
  // The tool asks one after the other.
  expect(denied.atMs).toBeGreaterThanOrEqual(fetched.endMs - SLACK_MS);
  expect(called.atMs).toBeGreaterThanOrEqual(denied.endMs - SLACK_MS);
  expect(Math.abs(beginMs + called.atMs - child.beginMs)).toBeLessThanOrEqual(SLACK_MS);
  expect(Math.abs(called.endMs - called.atMs - child.queueMs - child.wallMs)).toBeLessThanOrEqual(SLACK_MS);
  // What is repeated comes when the executor is lost, and takes no time of the server.
  for (const again of [row("fetch.request", "ok, replayed"), row("kv.get", "denied, replayed")])
    expect(beginMs + again.atMs).toBeGreaterThanOrEqual(lostMs - SLACK_MS);
  const second = rows.find(({ name }) => name === "Computing, attempt 2");
  expect(beginMs + (second?.atMs ?? NaN)).toBeGreaterThanOrEqual(lostMs - SLACK_MS);
}

test("a call with a denied request, a child and a killed executor is found by keys, and its rows have the times of the events", async () => {
  const watched: Watched = { arrivedMs: [], answeredMs: [], lostMs: [], asks: [] };
  const { engine, origin } = await makeCall(watched);
  const call = await engine.calls.get("gone");
  if (call?.detail === undefined || call.detail === null) throw new Error("the call was not kept");
  expect(call).toMatchObject({ attempts: 2, detail: { isReplayable: true } });
  const { asks } = call.detail;
  expect(asks.filter(({ isReplayed }) => !isReplayed).map(lineOf)).toEqual(["1 fetch ok", "1 kv denied", "1 tools ok"]);
  expect(asks.filter(({ isReplayed }) => isReplayed).map(lineOf)).toEqual([
    "2 fetch ok again",
    "2 kv denied again",
    "2 tools ok again",
  ]);
  expect(asks[0]).toMatchObject({ target: `${origin}/slow`, httpMethod: "GET", rule: "policy.rules[0]" });
  const [made] = (await engine.calls.list({ parent: "gone" })).calls;
  const child = await engine.calls.get(made?.id ?? "");
  if (child === undefined) throw new Error("the child was not kept");
  expect(child).toMatchObject({ tool: "add", surface: "tool", code: "ok" });
  expect((await engine.calls.replay("gone"))?.differences).toEqual([]);

  const server = await createServer(engine, { port: 0, drainMs: 0 });
  onTestFinished(() => server.close());
  const browser = await launch();
  onTestFinished(() => browser.close());
  await using visited = await visit(browser, server.url);
  const { page, complaints } = visited;
  for (const key of ["g", "c"]) await page.keyboard.press(key);
  await part(page, "Past calls").getByText("2 calls", { exact: true }).waitFor();
  await page.keyboard.press("f");
  await page.getByLabel("Filter", { exact: true }).and(page.locator(":focus")).waitFor();
  await page.keyboard.type("Tool");
  await page.keyboard.press("Tab");
  await page.keyboard.type("goer");
  await page.keyboard.press("Enter");
  await part(page, "Past calls").getByText("1 call", { exact: true }).waitFor();
  await tabTo(page, "Add");
  await page.keyboard.press("j");
  await expect.poll(() => page.evaluate("document.activeElement.hash")).toBe("#/calls/gone");
  await page.keyboard.press("Enter");
  expectTimes(await shownRows(page), call, child, watched);
  // What is hatched are the two repetitions and nothing else; the child is one row.
  const hatched = part(page, "Timeline").locator(".timeline .replayed");
  expect(await hatched.count()).toBe(2);
  expect(await page.evaluate('getComputedStyle(document.querySelector(".replayed")).backgroundImage')).toContain(
    "repeating-linear-gradient",
  );
  await tabTo(page, "fetch.request");
  expect(await focused(page)).toBe("fetch.request");
  await page.keyboard.press("Enter");
  await page.locator('dl[aria-label="fetch.request"]').getByText(`GET ${origin}/slow`).waitFor();
  expect(await violationsOf(page)).toEqual([]);
  expect(complaints).toEqual([]);
});
