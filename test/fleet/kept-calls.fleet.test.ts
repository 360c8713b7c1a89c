import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import type { CallFilter, CallSummary, Engine } from "../../src/glovebox/index.ts";
import { glovebox, ROOT } from "../cli/command.ts";
import { connectTo } from "../redis-server.ts";
import { createFleetEngine, POLL, startFleet, type TestFleet } from "./fleet.ts";
import { temporaryFolder } from "../kernel/tool/temporary.ts";

const SECRET = "a secret of the fleet";
const TENANTS = ["acme", "beta", ""];
const CALLS = 150;

let fleet: TestFleet;
beforeAll(async () => {
  fleet = await startFleet(1, { slots: 8, workers: 1, secret: SECRET });
});
afterAll(() => fleet[Symbol.asyncDispose]());

/** A server of the fleet. */
async function serve(): Promise<Engine> {
  const tools = Array.from({ length: 5 }, (_, at) => ({
    name: `tool${at}`,
    description: "Fails if it is told to.",
    source: 'export default ({ why }) => { if (why !== "") throw new Error(why); return Math.random(); };',
  }));
  const engine = await createFleetEngine({
    executor: { kind: "queue", url: fleet.url, fleet: fleet.name, secret: SECRET },
    calls: { url: fleet.url, fleet: fleet.name, secret: SECRET, keep: "everything" },
    tools,
  });
  onTestFinished(() => engine.close({ drainMs: 0 }));
  return engine;
}

const namesOf = (calls: readonly CallSummary[]) => calls.map(({ id }) => id).toSorted();

test("each server finds the calls of all, also after it was begun anew, and runs them again", async () => {
  const [one, other] = [await serve(), await serve()];
  const told: string[] = [];
  const watching = new AbortController();
  const watched = (async () => {
    for await (const { id } of other.calls.watch({ tool: "tool0" }, { signal: watching.signal })) told.push(id);
  })();
  await using peek = await connectTo(fleet.url);
  await expect.poll(() => peek.client.exists(`{glovebox:${fleet.name}:calls}:watched`), POLL).toBe(1);
  const calls = Array.from({ length: CALLS }, (_, at) => {
    const why = at % 10 === 9 ? `Number ${at} has failed` : "";
    return { id: `c${at}`, tool: `tool${at % 5}`, tenant: TENANTS[at % 3] ?? "", why, server: at % 2 };
  });
  await Promise.all(
    calls.map(({ id, tool, tenant, why, server }) =>
      (server === 0 ? one : other).execute({ id, name: tool, arguments: { why } }, { tenant }),
    ),
  );
  const expectFound = async (engine: Engine): Promise<void> => {
    const find = async (filter: CallFilter) => namesOf((await engine.calls.list({ ...filter, limit: 200 })).calls);
    const fits = (is: (call: (typeof calls)[number]) => boolean) =>
      calls.flatMap((call) => (is(call) ? [call.id] : [])).toSorted();
    await expect.poll(() => find({}), POLL).toEqual(fits(() => true));
    expect(await find({ code: "tool_error" })).toEqual(fits(({ why }) => why !== ""));
    expect(await find({ tool: "tool4" })).toEqual(fits(({ tool }) => tool === "tool4"));
    expect(await find({ tenant: "acme" })).toEqual(fits(({ tenant }) => tenant === "acme"));
    expect(await find({ text: "number 9" })).toEqual(fits(({ why }) => why.startsWith("Number 9")));
    expect(await find({ tenant: "beta", tool: "tool4", code: "tool_error" })).toEqual(
      fits(({ tenant, tool, why }) => tenant === "beta" && tool === "tool4" && why !== ""),
    );
  };
  await expectFound(one);
  await expectFound(other);
  await expect.poll(() => new Set(told).size, POLL).toBe(CALLS / 5);
  watching.abort();
  await watched;
  await one.close({ drainMs: 0 });
  const again = await serve();
  await expectFound(again);
  expect(await again.calls.get("c9", { tenant: "acme" })).toMatchObject({
    detail: { arguments: { why: "Number 9 has failed" } },
  });
  expect(await again.calls.get("c9", { tenant: "beta" })).toBeUndefined();
  expect(await again.calls.replay("c0")).toMatchObject({ verdict: "same" });
});

test("calls of a fleet are exported and imported without a server", async () => {
  const folder = await temporaryFolder();
  const engine = await serve();
  await engine.execute({ id: "sum", name: "tool1", arguments: { why: "" } });
  await expect.poll(() => engine.calls.get("sum"), POLL).toBeDefined();
  const run = (args: readonly string[], env: NodeJS.ProcessEnv = { GLOVEBOX_FLEET_SECRET: SECRET }) =>
    glovebox(ROOT, ["calls", ...args], env);
  const place = (name: string) => ["--redis", fleet.url, "--fleet", name];
  const { stdout } = await run(["export", ...place(fleet.name)]);
  const [line = ""] = stdout.split("\n").filter((each) => each.includes('"id":"sum"'));
  const lines = join(folder, "calls.jsonl");
  await writeFile(lines, `${line}\n`);
  expect((await run(["import", lines, ...place("elsewhere")])).stderr).toContain("1 calls were added to the fleet");
  expect((await run(["import", lines, ...place("elsewhere")])).stderr).toContain("0 calls were added");
  expect((await run(["export", ...place("elsewhere")])).stdout).toBe(`${line}\n`);
  expect(await run(["export", ...place(fleet.name)], {})).toMatchObject({ code: 2 });
  expect(
    await run(["export", ...place(fleet.name)], { GLOVEBOX_FLEET_SECRET: "another secret than theirs" }),
  ).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("another secret"),
  });
});
