import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { parseArgs } from "node:util";
import { createEngine, type Engine, type ToolDefinition } from "../../../../src/glovebox/index.ts";
import type { DurableCall } from "../../../../src/kernel/store/calls/durable/durable-call.ts";
import { placeOf } from "../../../kernel/engine/programs/calls-place.ts";
import { startRedis } from "../../../redis-server.ts";
import { CountingServer, type Effect, effectOf } from "../counting-server.ts";
import { Machines } from "../machines.ts";
import { COUNTED, ORDER } from "../order.ts";

/*
 * Stored calls with effects on a counting server, while one of three processes is killed every so often: no effect may
 * happen twice, no call may be lost, and nothing may be in doubt that was not under way. `durable --calls 200 --seconds 60
 * --every 500 --ready 12 --aim 25`: each twenty-fifth effect kills the process that asks for it, too, and so many processes
 * are ready to follow; `--redis`: calls are in a Redis, and not in a file. Prints a report as JSON.
 */

const { values } = parseArgs({
  options: {
    calls: { type: "string", default: "200" },
    seconds: { type: "string", default: "60" },
    every: { type: "string", default: "500" },
    ready: { type: "string", default: "12" },
    aim: { type: "string", default: "25" },
    redis: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});
if (values.help) {
  const usage = "[--calls 200] [--seconds 60] [--every 500] [--ready 12] [--aim 25] [--redis]";
  console.log(`Usage: chaos:durable ${usage}`);
  process.exit();
}
const [calls, everyMs, lastMs] = [Number(values.calls), Number(values.every), Number(values.seconds) * 1_000];
/** Time for what is left once nothing is killed any more. */
const REST_MS = 120_000;

/** Until when processes are killed. */
let endMs = 0;
await using server = new CountingServer(
  Number(values.aim),
  (name) => performance.now() < endMs && machines.killNamed(name),
);
const url = await server.listen();
const folder = await mkdtemp(join(tmpdir(), "glovebox-chaos-"));
const redis = values.redis ? await startRedis() : null;
const place = redis === null ? join(folder, "calls.sqlite") : `${redis.url}#chaos`;
using machines = new Machines([place, redis === null ? join(folder, "kv.sqlite") : redis.url, url]);

const open = (tools: readonly ToolDefinition[]): Promise<Engine> =>
  createEngine({ workers: 1, executor: { kind: "threads" }, calls: { ...placeOf(place), resume: false }, tools });

/** Makes calls, each of which waits for its approval. */
async function make(count: number): Promise<readonly string[]> {
  await using engine = await open([ORDER]);
  const ids: string[] = [];
  for (let at = 0; at < count; at++) {
    const { error } = await engine.execute({ name: ORDER.name, arguments: { key: `k${at}`, url } });
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
const asked = new Map<string, number>();
/** What was in doubt and cannot have been under way. */
const baseless: string[] = [];

/** Says of effects in doubt what the server knows. */
async function settle({ id, waits }: DurableCall): Promise<void> {
  for (const wait of waits) {
    if (wait.kind !== "outcome" || wait.state !== "open") continue;
    const effect = askedFor(wait.asked, wait.arguments);
    if (effect === null || !server.mayBeUnderWay(effect, COUNTED)) baseless.push(`${wait.asked} ${wait.arguments}`);
    const count = effect === null ? 0 : server.count(effect);
    const decision = count === 0 ? "did_not_happen" : "happened";
    const answer = wait.asked === "fetch.request" ? { status: 200, body: `${count}` } : count;
    await durable.decide(id, { wait: wait.step, decision, ...(count > 0 && { answer }) });
    doubts[decision]++;
    const place = `${wait.asked} ${effect?.n ?? 0}`;
    asked.set(place, (asked.get(place) ?? 0) + 1);
  }
}

/** `null` for what is done again by itself, and never in doubt. */
function askedFor(what: string, args: string): Effect | null {
  const given = JSON.parse(args) as { readonly url?: string; readonly arguments?: { readonly url?: string } };
  switch (what) {
    case "desk.post":
    case "fetch.request":
      return effectOf(given.url ?? "");
    case "tools.call":
      return effectOf(given.arguments?.url ?? "");
    default:
      return null;
  }
}

async function settleAll(): Promise<void> {
  for (const call of (await durable.list({ state: "in_doubt", limit: 200 })).calls) await settle(call);
}

async function unended(): Promise<number> {
  const open = ["running", "paused", "ready", "in_doubt"] as const;
  const pages = await Promise.all(open.map((state) => durable.list({ state, limit: 200 })));
  return pages.reduce((sum, page) => sum + page.calls.length, 0);
}

const ids = await make(calls);
await machines.prepare(Number(values.ready));
// It decides, and runs nothing.
const engine = await open([]);
const { durable } = engine.calls;
machines.begin();
const beginMs = performance.now();
endMs = beginMs + lastMs;
// They run while processes are killed.
const approving = (async () => {
  for (const id of ids) {
    await approve(id);
    await delay((lastMs / ids.length) * 0.9);
  }
})();
const settling = (async () => {
  for (; performance.now() < endMs; await delay(250)) await settleAll();
})();
/** Times to kill at which none was at work. */
let missed = 0;
for (let atMs = beginMs + everyMs; atMs < endMs; atMs += everyMs) {
  await delay(Math.max(0, atMs - performance.now()));
  if (!machines.killOldest()) missed++;
}
await Promise.all([approving, settling]);
const endedMeanwhile = ids.length - (await unended());
const restMs = performance.now() + REST_MS;
for (let left = ids.length; left > 0 && performance.now() < restMs; await delay(500)) {
  await settleAll();
  left = await unended();
}
const wrong: string[] = [];
const states = new Map<string, number>();
const versions = new Set<unknown>();
for (const [at, id] of ids.entries()) {
  const { result, state = "lost" } = (await durable.get(id)) ?? {};
  const end = result?.error?.code ?? state;
  states.set(end, (states.get(end) ?? 0) + 1);
  const [first, second, version, third] = Array.isArray(result?.output) ? (result.output as readonly unknown[]) : [];
  versions.add(version);
  if (first === 1 && second === 1 && third === 1) continue;
  wrong.push(`k${at}: ${end} ${JSON.stringify(result?.output ?? result?.error)}`);
}
// Each write has the next version: one that was written twice leaves out a number.
const unwritten = Array.from({ length: ids.length }, (_one, at) => at + 1).filter((version) => !versions.has(version));
machines[Symbol.dispose]();
const { kills } = machines;
const { effects, twice } = server;
const told = { calls: ids.length, kills, missed, endedMeanwhile, doubts, asked: Object.fromEntries(asked) };
console.log(JSON.stringify({ ...told, baseless, effects, twice, unwritten, states: [...states], wrong }));
await engine.close();
await redis?.[Symbol.asyncDispose]();
await rm(folder, { recursive: true });
