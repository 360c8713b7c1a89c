import { createServer as createHttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { createEngine, defineCapability, type Engine } from "../../../src/glovebox/index.ts";
import { createServer } from "../../../src/server/http/server.ts";
import { launch, part, violationsOf, visit } from "./harness.ts";

const SOURCE = `export default async ({ origin }, { host }) => {
  await (await fetch(origin + "/slow")).text();
  await host.tools.add({ a: 1, b: 2 });
  await host.kill.now();
};`;
const SLOW_MS = 60;
/** Rows are exact to this time, and cells have three digits. */
const SLACK_MS = 5;

/** The text of a cell, in milliseconds. */
function msOf(text = ""): number {
  const [, value = "", unit = ""] = /^([\d.]+) (µs|ms|s)$/.exec(text) ?? [];
  return Number(value) * ({ µs: 0.001, ms: 1, s: 1_000 }[unit] ?? NaN);
}

test("a call whose executor was killed has two hatched rows, which its journal answered, after those that it repeats", async () => {
  const seen: number[] = [];
  const upstream = createHttpServer((_request, response) => {
    seen.push(Date.now());
    setTimeout(() => {
      seen.push(Date.now());
      response.end("slow");
    }, SLOW_MS);
  });
  await new Promise<void>((resolve) => void upstream.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void upstream.close());
  const origin = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`;
  const killAll = async (): Promise<void> => {
    const lost = new Promise((resolve) => engine.on("executor:lost", resolve));
    for (const pid of engine.stats().executor.groups?.flatMap(({ pids }) => pids) ?? []) process.kill(pid, "SIGKILL");
    await lost;
  };
  const kill = defineCapability({ name: "kill", methods: { now: { handler: killAll } } });
  const engine: Engine = await createEngine({
    workers: 1,
    executor: { kind: "process", sandbox: "off" },
    capabilities: [kill],
    policy: { rules: [{ allow: { kill: true, tools: ["add"], fetch: { origins: [], privateOrigins: [origin] } } }] },
    calls: { path: ":memory:", keep: "everything" },
    tools: [
      { name: "add", description: "Adds.", source: "export default ({ a, b }) => a + b;" },
      {
        name: "goer",
        description: "Goes.",
        capabilities: { kill: true, tools: ["add"], fetch: { origins: [origin] } },
        source: SOURCE,
      },
    ],
  });
  const server = await createServer(engine, { port: 0, drainMs: 0 });
  onTestFinished(() => server.close());
  const { success } = await engine.execute({ id: "gone", name: "goer", arguments: { origin } });
  expect([success, seen.length]).toEqual([true, 2]);
  const { beginMs = NaN, detail } = (await engine.calls.get("gone")) ?? {};

  const browser = await launch();
  onTestFinished(() => browser.close());
  await using visited = await visit(browser, `${server.url}/#/calls/gone`);
  const { page, complaints } = visited;
  const rows = part(page, "Timeline").getByRole("row");
  await rows.getByText("Call of add").waitFor();
  const cells = await Promise.all((await rows.all()).map((row) => row.getByRole("cell").allTextContents()));
  const named = (name: string, outcome: string) => cells.findIndex(([what, came]) => what === name && came === outcome);
  const [made, again] = [named("fetch.request", "ok"), named("fetch.request", "ok, replayed")];
  expect(named("kill.now", "ok")).toBeLessThan(again);
  expect(named("kill.now", "ok, replayed")).toBeGreaterThan(again);
  // What is hatched are the two repetitions and nothing else; the child is one row.
  expect(await part(page, "Timeline").locator(".timeline .replayed").count()).toBe(2);
  expect(await rows.nth(again).locator(".replayed").count()).toBe(1);
  expect(await page.evaluate('getComputedStyle(document.querySelector(".replayed")).backgroundImage')).toContain(
    "repeating-linear-gradient",
  );
  expect(cells.filter(([what]) => what === "Call of add")).toHaveLength(1);
  // The times of the rows are those of the events.
  const [, , start, took] = cells[made] ?? [];
  const [arrived = NaN, answered = NaN] = seen;
  expect(beginMs + msOf(start)).toBeLessThanOrEqual(arrived + SLACK_MS);
  expect(beginMs + msOf(start) + msOf(took)).toBeGreaterThanOrEqual(answered - SLACK_MS);
  const repeated = detail?.asks.find(({ isReplayed }) => isReplayed);
  expect(Math.abs(msOf(cells[again]?.[2]) - (repeated?.atMs ?? NaN))).toBeLessThanOrEqual(SLACK_MS);
  await rows.nth(made).getByRole("button").click();
  await page.locator('dl[aria-label="fetch.request"]').getByText(`GET ${origin}/slow`).waitFor();
  expect(await violationsOf(page)).toEqual([]);
  expect(complaints).toEqual([]);
});
