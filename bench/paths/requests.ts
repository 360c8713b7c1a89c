import autocannon from "autocannon";
import { createServer } from "../../src/server/http/server.ts";
import { call, openEngine, sumOf } from "../engines.ts";
import { startServer, type ServerKind } from "../server-process.ts";
import { addArguments, addTool, expectedSum } from "../tools.ts";
import { INDEX_CYCLE, runChecked, type Subject } from "../sampling.ts";
import { median } from "../statistics.ts";
import { answerWith, Connection } from "./exchange.ts";
import { AT_ONCE, type Path, type PathFamily, type PathSubject } from "./path.ts";

const CONNECTIONS = 64;
const HEADERS = { "content-type": "application/json" };

/** Calls over HTTP, against a bare server that checks the same body and answers the same bytes, and against the engine. */
export const requests: PathFamily = async (opened) => {
  const single = async (kind: ServerKind, name: string): Promise<PathSubject> => {
    const server = opened.use(await startServer(kind));
    const url = `${server.url}/v1/execute`;
    const run = async (index: number) => (await post<Answer>(url, bodyOf(index))).output.sum;
    return { name, run, perSecond: (sampleMs) => perSecond(url, sampleMs) };
  };
  return [
    {
      name: `POST /v1/execute, ${CONNECTIONS} connections`,
      operations: 1,
      concurrency: null,
      expected: expectedSum,
      subjects: [await single("glovebox", "process"), await single("ajv", "bare fastify + ajv")],
    },
    await batches(opened),
  ];
};

/**
 * Batches, one after the other. Their client runs in this process, and would take longer than the calls of a batch: so before
 * each batch as many bytes go to and from a bare socket through the same client, and of a batch over HTTP only the time beyond
 * that counts. It is all that the server takes, and its part of Node's HTTP. Batches of the engine itself contain no exchange, and
 * come after one as well: a worker that rests meanwhile takes longer to wake.
 */
async function batches(opened: AsyncDisposableStack): Promise<Path> {
  const engine = opened.use(await openEngine("process"));
  await engine.register(addTool("add"));
  const server = await createServer(engine, { port: 0 });
  opened.defer(() => server.close());
  const client = opened.use(new Connection(server.port));
  const sumIn = (json: string): number =>
    (JSON.parse(json) as { readonly results: readonly Answer[] }).results.reduce(
      (sum, { output }) => sum + output.sum,
      0,
    );
  const callsOf = (index: number) =>
    Array.from({ length: AT_ONCE }, () => ({ name: "add", arguments: addArguments(index) }));
  const post = (index: number) => client.post("/v1/execute/batch", JSON.stringify({ calls: callsOf(index) }));
  const socket = opened.use(await answerWith(await post(0)));
  const bare = opened.use(new Connection(socket.port));
  const exchange = async (index: number): Promise<void> =>
    void sumIn(await bare.post("/", JSON.stringify({ calls: callsOf(index) })));
  const expected = (index: number): number => AT_ONCE * expectedSum(index);
  const subject = (name: string, run: (index: number) => Promise<number>, hasExchange: boolean): PathSubject => ({
    name,
    run,
    perSecond: (sampleMs) => afterExchanges({ name, run, against: [] }, { expected, exchange, hasExchange }, sampleMs),
  });
  const execute = async (index: number): Promise<number> => {
    const all = await Promise.all(callsOf(index).map((each) => call(engine, each.name, each.arguments)));
    return all.reduce<number>((sum, output) => sum + sumOf(output), 0);
  };
  return {
    name: `POST of a batch of ${AT_ONCE}`,
    operations: AT_ONCE,
    concurrency: null,
    expected,
    subjects: [
      subject("process", async (index) => sumIn(await post(index)), true),
      subject(`execute × ${AT_ONCE}`, execute, false),
    ],
  };
}

interface Exchanges {
  readonly expected: (index: number) => number;
  readonly exchange: (index: number) => Promise<void>;
  /** Whether the subject's work contains an exchange, which is not counted. */
  readonly hasExchange: boolean;
}

/** Calls per second, by the median batch. */
async function afterExchanges(
  subject: Subject,
  { expected, exchange, hasExchange }: Exchanges,
  sampleMs: number,
): Promise<number> {
  const times: number[] = [];
  const endMs = performance.now() + sampleMs;
  for (let nth = 0; nth === 0 || performance.now() < endMs; nth++) {
    const startMs = performance.now();
    await exchange(nth % INDEX_CYCLE);
    const exchangedMs = performance.now();
    await runChecked(subject, expected, nth);
    const tookMs = performance.now() - exchangedMs;
    times.push(hasExchange ? tookMs - (exchangedMs - startMs) : tookMs);
  }
  return (AT_ONCE / median(times)) * 1e3;
}

interface Answer {
  readonly output: { readonly sum: number };
}

async function post<T>(url: string, body: string): Promise<T> {
  const response = await fetch(url, { method: "POST", headers: HEADERS, body });
  const text = await response.text();
  if (response.status !== 200) throw new Error(`${url} answered ${response.status}: ${text}`);
  return JSON.parse(text) as T;
}

function bodyOf(index: number): string {
  return JSON.stringify({ id: "c", name: "add", arguments: addArguments(index) });
}

/** Answers per second; every one of them has to be a good one. tinybench has no connections, so autocannon measures. */
async function perSecond(url: string, sampleMs: number): Promise<number> {
  const startMs = performance.now();
  const options = { url, method: "POST", headers: HEADERS, body: bodyOf(0), connections: CONNECTIONS } as const;
  const { "2xx": answered, non2xx, errors } = await autocannon({ ...options, duration: sampleMs / 1e3 });
  if (non2xx + errors > 0) throw new Error(`${url}: ${non2xx} bad answers, ${errors} errors`);
  return (answered / (performance.now() - startMs)) * 1e3;
}
