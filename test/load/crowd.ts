import { Agent, request } from "node:http";
import { text } from "node:stream/consumers";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { filesOf, residentMb } from "../processes.ts";
import { Program } from "./program.ts";

/** How many there are of each kind of client. */
export interface Crowd {
  /** Each has asked once, and keeps its connection. */
  readonly idle: number;
  /** Each reads the events of a call that goes on. */
  readonly streams: number;
  /** Each reads the statistics as they come. */
  readonly stats: number;
  /** Each has asked for 64 large answers at once, and reads none of them. */
  readonly deaf: number;
}

/** Effects of a crowd on a server. Memory in MiB; the latencies are of good clients beside it, in milliseconds. */
export interface CrowdReport {
  readonly connections: number;
  readonly mbAlone: number;
  readonly mbCrowded: number;
  readonly mbAfter: number;
  readonly aloneMs: Latency;
  readonly crowdedMs: Latency;
  readonly goodAnswers: number;
  readonly events: number;
  readonly closed: number;
  readonly filesLeft: number;
}

export interface Latency {
  readonly p50: number;
  readonly p99: number;
}

const GOOD_AT_ONCE = 8;
const SETTLE_MS = 2_000;
const GONE_MS = 30_000;

/** Lets a crowd loose on a server, with good clients for `ms` before it and beside it. Rejects where one of these is not answered. */
export async function runCrowd(crowd: Crowd, ms: number): Promise<CrowdReport> {
  await using server = new Program("serves");
  const url = await server.line();
  const port = Number(new URL(url).port);
  const filesAlone = filesOf(server.pid);
  const alone = await askWell(port, ms);
  const mbAlone = residentMb(server.pid);
  const { idle, streams, stats, deaf } = crowd;
  await using clients = new Program("connects", [port, idle, streams, stats, deaf]);
  await clients.line();
  await delay(SETTLE_MS);
  const connections = await connectionsOf(url);
  const crowded = await askWell(port, ms);
  const mbCrowded = residentMb(server.pid);
  clients.stop();
  const { closed, events } = JSON.parse(await clients.line()) as { readonly closed: number; readonly events: number };
  const untilMs = performance.now() + GONE_MS;
  while (filesOf(server.pid) > filesAlone && performance.now() < untilMs) await delay(100);
  return {
    connections,
    mbAlone,
    mbCrowded,
    mbAfter: residentMb(server.pid),
    aloneMs: latency(alone),
    crowdedMs: latency(crowded),
    goodAnswers: crowded.length,
    events,
    closed,
    filesLeft: filesOf(server.pid) - filesAlone,
  };
}

/** Connections that a server has, but for the one that asks: its files are also those of a build process, while it has one. */
async function connectionsOf(url: string): Promise<number> {
  const metrics = await (await fetch(`${url}/metrics`)).text();
  return Number(/^glovebox_http_connections (\d+)$/m.exec(metrics)?.[1] ?? 0) - 1;
}

/** Good clients, each of which asks again when it was answered; the latencies of them all. */
async function askWell(port: number, ms: number): Promise<readonly number[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: GOOD_AT_ONCE });
  const latencies: number[] = [];
  const endMs = performance.now() + ms;
  const client = async (): Promise<void> => {
    for (let startMs = performance.now(); startMs < endMs; startMs = performance.now()) {
      await askOnce(agent, port);
      latencies.push(performance.now() - startMs);
    }
  };
  await Promise.all(Array.from({ length: GOOD_AT_ONCE }, client));
  agent.destroy();
  return latencies;
}

async function askOnce(agent: Agent, port: number): Promise<void> {
  const headers = { "content-type": "application/json" };
  const outgoing = request({ port, host: "127.0.0.1", path: "/v1/execute", method: "POST", agent, headers });
  outgoing.end('{"name":"add","arguments":{"a":1,"b":2}}');
  const [response] = (await once(outgoing, "response", { signal: AbortSignal.timeout(GONE_MS) })) as [IncomingMessage];
  const said = await text(response);
  if (response.statusCode !== 200 || !said.includes('"sum":3')) throw new Error(`a good client was answered ${said}`);
}

function latency(all: readonly number[]): Latency {
  const sorted = all.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
  return { p50: at(0.5), p99: at(0.99) };
}
