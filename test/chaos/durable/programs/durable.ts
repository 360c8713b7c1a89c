import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath, URL } from "node:url";
import { parseArgs } from "node:util";
import { createEngine, type Engine, type ToolDefinition } from "../../../../src/glovebox/index.ts";
import type { DurableCall } from "../../../../src/kernel/store/calls/durable/durable-call.ts";
import { placeOf } from "../../../kernel/engine/programs/calls-place.ts";
import { startRedis } from "../../../redis-server.ts";
import { ORDER } from "../order.ts";

/*
 * Stored calls with effects on a counting server, while one of three processes is killed every so often: no effect may
 * happen twice, and no call may be lost. `durable --calls 200 --seconds 60 --every 3000 --aim 10`: each tenth effect kills the
 * process that asks for it, too; `--redis`: calls are in a Redis, and not
 * in a file. Prints a report as JSON.
 */

const { values } = parseArgs({
  options: {
    calls: { type: "string", default: "200" },
    seconds: { type: "string", default: "60" },
    every: { type: "string", default: "3000" },
    aim: { type: "string", default: "10" },
    redis: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});
if (values.help) {
  console.log("Usage: chaos:durable [--calls 200] [--seconds 60] [--every 3000] [--aim 10] [--redis]");
  process.exit();
}
const MACHINES = 3;
/** Time for what is left once nothing is killed any more. */
const REST_MS = 120_000;

/** Until when processes are killed. */
let endMs = 0;
/** Effects that were asked for. */
let asked = 0;
/** Effects by key and number, as often as they have happened. */
const counts = new Map<string, number>();
const server = createServer((request, response) => {
  let body = "";
  request.setEncoding("utf8").on("data", (text: string) => (body += text));
  request.on("end", () => {
    const { key, n, pid } = JSON.parse(body) as { readonly key: string; readonly n: number; readonly pid: number };
    if (++asked % Number(values.aim) === 0) {
      const isKilled = kill(places.find((child) => child?.pid === pid) ?? null);
      // In turn: before it happened, and after.
      if (isKilled && asked % (2 * Number(values.aim)) === 0) return;
    }
    const count = (counts.get(`${key} ${n}`) ?? 0) + 1;
    counts.set(`${key} ${n}`, count);
    // Long enough for a kill between the effect and its answer.
    setTimeout(() => response.end(JSON.stringify(count)), 20);
  });
});
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
const folder = await mkdtemp(join(tmpdir(), "glovebox-chaos-"));
const redis = values.redis ? await startRedis() : null;
const place = redis === null ? join(folder, "calls.sqlite") : `${redis.url}#chaos`;

const open = (tools: readonly ToolDefinition[]): Promise<Engine> =>
  createEngine({ workers: 1, executor: { kind: "threads" }, calls: { ...placeOf(place), resume: false }, tools });
const places: (ChildProcess | null)[] = Array.from({ length: MACHINES }, () => null);
let kills = 0;
let isOver = false;

function kill(child: ChildProcess | null | undefined): boolean {
  const isKilled = performance.now() < endMs && child?.kill("SIGKILL") === true;
  if (isKilled) kills++;
  return isKilled;
}

function start(at: number): void {
  const file = fileURLToPath(new URL("machine.ts", import.meta.url));
  const child = spawn(process.execPath, ["--no-node-snapshot", "--no-warnings", file, place, url], { stdio: "ignore" });
  places[at] = child;
  child.once("exit", () => {
    if (!isOver) start(at);
  });
}

/** Makes calls, each of which waits for its approval. */
async function make(count: number): Promise<readonly string[]> {
  await using engine = await open([ORDER]);
  const ids: string[] = [];
  for (let at = 0; at < count; at++) {
    const { error } = await engine.execute({ name: ORDER.name, arguments: { key: `k${at}` } });
    if (error?.code !== "paused") throw new Error(`the call does not wait: ${error?.message}`);
    ids.push(error.details?.id ?? "");
  }
  return ids;
}

async function approve(id: string): Promise<void> {
  const [wait] = (await durable.get(id))?.waits ?? [];
  if (wait?.kind !== "approval") throw new Error("nothing waits");
  await durable.decide(id, { decision: "approve", digest: wait.digest });
}

const doubts = { happened: 0, did_not_happen: 0 };

/** Says of effects in doubt what the server knows. */
async function settle({ id, waits }: DurableCall): Promise<void> {
  for (const wait of waits) {
    if (wait.kind !== "outcome" || wait.state !== "open") continue;
    const { key, n } = JSON.parse(wait.arguments) as { readonly key: string; readonly n: number };
    const count = counts.get(`${key} ${n}`);
    const decision = count === undefined ? "did_not_happen" : "happened";
    await durable.decide(id, { wait: wait.step, decision, ...(count === undefined ? {} : { answer: count }) });
    doubts[decision]++;
  }
}

async function settleAll(): Promise<void> {
  for (const call of (await durable.list({ state: "in_doubt", limit: 200 })).calls) await settle(call);
}

const ids = await make(Number(values.calls));
// It decides, and runs nothing.
const engine = await open([]);
const { durable } = engine.calls;
for (const at of places.keys()) start(at);
endMs = performance.now() + Number(values.seconds) * 1_000;
// They run while processes are killed.
const approving = (async () => {
  for (const id of ids) {
    await approve(id);
    await delay(((Number(values.seconds) * 1_000) / ids.length) * 0.9);
  }
})();
for (let at = 0; performance.now() < endMs; at++) {
  await delay(Number(values.every));
  kill(places[at % MACHINES]);
  await settleAll();
}
await approving;
const states = new Map<string, number>();
const restMs = performance.now() + REST_MS;
for (let left = ids.length; left > 0 && performance.now() < restMs; await delay(500)) {
  await settleAll();
  const open = ["running", "paused", "ready", "in_doubt"] as const;
  const pages = await Promise.all(open.map((state) => durable.list({ state, limit: 1 })));
  left = pages.reduce((sum, { calls }) => sum + calls.length, 0);
}
const wrong: string[] = [];
for (const [at, id] of ids.entries()) {
  const call = await durable.get(id);
  const state = call?.result?.error?.code ?? call?.state ?? "lost";
  states.set(state, (states.get(state) ?? 0) + 1);
  if (call?.result?.success !== true || JSON.stringify(call.result.output) !== "[1,1,1]")
    wrong.push(`k${at}: ${state} ${JSON.stringify(call?.result?.output ?? call?.result?.error)}`);
}
isOver = true;
for (const child of places) child?.kill("SIGKILL");
const twice = [...counts].filter(([, count]) => count > 1).map(([key]) => key);
console.log(
  JSON.stringify({ calls: ids.length, kills, doubts, effects: counts.size, twice, states: [...states], wrong }),
);
await engine.close();
server.close();
server.closeAllConnections();
await redis?.[Symbol.asyncDispose]();
await rm(folder, { recursive: true });
