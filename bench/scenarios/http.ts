import autocannon from "autocannon";
import { inRounds, pick } from "../rounds.ts";
import { probe, type Subject } from "../sampling.ts";
import type { Context, Scenario } from "../scenario.ts";
import { type ServerKind, startServer } from "../server-process.ts";
import { summarize } from "../statistics.ts";
import { addArguments, expectedSum } from "../tools.ts";

const CONCURRENCY = 64;
const BARE = "bare fastify, JSON echo";
const HEADERS = { "content-type": "application/json" };
const METRIC = { name: `calls_per_second_c${CONCURRENCY}`, unit: "/s", better: "higher" } as const;

interface Target extends Subject {
  readonly url: string;
}

/** What the HTTP surface and the engine cost, with the load, the server and the executor in processes of their own. */
export const http: Scenario = {
  name: "http",
  description: `POST /v1/execute with ${CONCURRENCY} connections of autocannon, against a bare fastify that echoes the same body`,
  smoke: { states: ["quiet"], rounds: 1, sampleMs: 100 },
  full: { states: ["quiet"], rounds: 5, sampleMs: 10_000 },
  async run(context: Context) {
    await using opened = new AsyncDisposableStack();
    const targets: Target[] = [];
    const add = async (name: string, kind: ServerKind, against: readonly string[], sum: (answer: Answer) => number) => {
      const server = opened.use(await startServer(kind));
      const url = `${server.url}/v1/execute`;
      targets.push({ name, against, url, run: async (index) => sum(await post(url, index)) });
    };
    await add("glovebox process", "glovebox", [BARE], ({ output }) => output?.sum ?? Number.NaN);
    await add(BARE, "fastify", [], ({ arguments: args }) => (args === undefined ? Number.NaN : args.a + args.b));
    const checksum = await probe(targets, expectedSum);
    const rounds = await inRounds(context, targets, METRIC.name, ({ url }, ms) => sample(url, ms));
    return {
      rows: summarize(
        METRIC,
        targets,
        pick(rounds, (perSecond) => perSecond),
      ),
      checksum,
    };
  },
};

/** Answers per second; every one of them has to be a good one. */
async function sample(url: string, sampleMs: number): Promise<number> {
  const startMs = performance.now();
  const body = bodyOf(0);
  const options = { url, method: "POST", headers: HEADERS, body, connections: CONCURRENCY } as const;
  const { "2xx": answered, non2xx, errors, timeouts } = await autocannon({ ...options, duration: sampleMs / 1e3 });
  if (non2xx + errors + timeouts > 0) {
    throw new Error(`${url}: ${non2xx} bad answers, ${errors} errors, ${timeouts} of them for want of time`);
  }
  return (answered / (performance.now() - startMs)) * 1e3;
}

/** A result of glovebox, or the body that was sent. */
interface Answer {
  readonly output?: { readonly sum: number };
  readonly arguments?: { readonly a: number; readonly b: number };
}

async function post(url: string, index: number): Promise<Answer> {
  const response = await fetch(url, { method: "POST", headers: HEADERS, body: bodyOf(index) });
  const body = await response.text();
  if (response.status !== 200) throw new Error(`${url} answered ${response.status}: ${body}`);
  return JSON.parse(body) as Answer;
}

function bodyOf(index: number): string {
  return JSON.stringify({ id: "c", name: "add", arguments: addArguments(index) });
}
