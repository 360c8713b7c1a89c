import autocannon from "autocannon";
import { createServer } from "../../src/service/http/server.ts";
import { call, openEngine, sumOf } from "../engines.ts";
import { startServer, type ServerKind } from "../server-process.ts";
import { addArguments, addTool, expectedSum } from "../tools.ts";
import { AT_ONCE, type PathFamily, type PathSubject } from "./path.ts";

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
  const engine = opened.use(await openEngine("process"));
  await engine.register(addTool("add"));
  const server = await createServer(engine, { port: 0 });
  opened.defer(() => server.close());
  const calls = (index: number) =>
    Array.from({ length: AT_ONCE }, () => ({ name: "add", arguments: addArguments(index) }));
  return [
    {
      name: `POST /v1/execute, ${CONNECTIONS} connections`,
      operations: 1,
      concurrency: null,
      expected: expectedSum,
      subjects: [await single("glovebox", "process"), await single("ajv", "bare fastify + ajv")],
    },
    {
      name: `POST of a batch of ${AT_ONCE}`,
      operations: AT_ONCE,
      concurrency: null,
      expected: (index) => AT_ONCE * expectedSum(index),
      subjects: [
        {
          name: "process",
          run: async (index) => {
            const body = JSON.stringify({ calls: calls(index) });
            const { results } = await post<{ readonly results: readonly Answer[] }>(
              `${server.url}/v1/execute/batch`,
              body,
            );
            return results.reduce((sum, { output }) => sum + output.sum, 0);
          },
        },
        {
          name: `execute × ${AT_ONCE}`,
          run: async (index) => {
            const all = await Promise.all(calls(index).map((each) => call(engine, each.name, each.arguments)));
            return all.reduce<number>((sum, output) => sum + sumOf(output), 0);
          },
        },
      ],
    },
  ];
};

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
