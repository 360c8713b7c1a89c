import { once } from "node:events";
import { Agent, type IncomingMessage, request } from "node:http";
import { text } from "node:stream/consumers";
import { inRounds } from "../rounds.ts";
import { probe, type Subject } from "../sampling.ts";
import type { Context, Scenario } from "../scenario.ts";
import { startFlood, startServer } from "../server-process.ts";
import { percentile, summarize } from "../statistics.ts";
import { addArguments, expectedSum } from "../tools.ts";

const GOOD_CLIENTS = 16;
const FLOOD_CONNECTIONS = 8;
const ALONE = "good clients alone";
const METRIC = { name: "p99_ms", unit: "ms", better: "lower" } as const;

interface Guests extends Subject {
  readonly isFlooded: boolean;
}

/** What good clients notice of bad ones, which write whatever comes to their minds as fast as they can. */
export const httpFlood: Scenario = {
  name: "http-flood",
  description: `${GOOD_CLIENTS} good clients' p99 beside ${FLOOD_CONNECTIONS} connections of bad requests at a time, against without`,
  smoke: { states: ["quiet"], rounds: 1, sampleMs: 100 },
  full: { states: ["quiet"], rounds: 7, sampleMs: 4_000 },
  async run(context: Context) {
    await using opened = new AsyncDisposableStack();
    const server = opened.use(await startServer("glovebox"));
    const port = Number(new URL(server.url).port);
    const agent = opened.adopt(new Agent({ keepAlive: true, maxSockets: GOOD_CLIENTS }), (each) => each.destroy());
    const run = (index: number) => add(agent, port, index);
    const guests: readonly Guests[] = [
      { name: "good clients beside a flood", against: [ALONE], isFlooded: true, run },
      { name: ALONE, against: [], isFlooded: false, run },
    ];
    const checksum = await probe(guests, expectedSum);
    const rounds = await inRounds(context, guests, METRIC.name, async ({ isFlooded }, ms) => {
      await using flood = isFlooded ? await startFlood(port, FLOOD_CONNECTIONS) : null;
      const latencies = await sample(agent, port, ms);
      await flood?.[Symbol.asyncDispose]();
      return { value: percentile(latencies, 0.99) };
    });
    return { rows: summarize(METRIC, guests, rounds), checksum };
  },
};

/** The latencies of clients that each ask again when they were answered, in ascending order. */
async function sample(agent: Agent, port: number, sampleMs: number): Promise<readonly number[]> {
  const latencies: number[] = [];
  const endMs = performance.now() + sampleMs;
  const client = async (): Promise<void> => {
    for (let startMs = performance.now(); startMs < endMs; startMs = performance.now()) {
      await add(agent, port, 0);
      latencies.push(performance.now() - startMs);
    }
  };
  await Promise.all(Array.from({ length: GOOD_CLIENTS }, client));
  return latencies.toSorted((a, b) => a - b);
}

/** Has two numbers added. Rejects where the answer is any other than a good one. */
async function add(agent: Agent, port: number, index: number): Promise<number> {
  const headers = { "content-type": "application/json" };
  const outgoing = request({ host: "127.0.0.1", port, path: "/v1/execute", method: "POST", agent, headers });
  outgoing.end(JSON.stringify({ name: "add", arguments: addArguments(index) }));
  const [response] = (await once(outgoing, "response")) as [IncomingMessage];
  const body = await text(response);
  const { output } = JSON.parse(body) as { readonly output: { readonly sum: number } | null };
  const sum = output?.sum;
  if (sum === undefined || sum !== expectedSum(index)) throw new Error(`a good client was answered ${body}`);
  return sum;
}
