import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Agent, fetch as bareFetch } from "undici";
import { call, EXECUTORS, openEngine, sumOf } from "../engines.ts";
import { measure, type Subject } from "../sampling.ts";
import type { Scenario } from "../scenario.ts";
import { addArguments, addTool, expectedSum } from "../tools.ts";

const CONCURRENCY = 32;
const BARE = "undici fetch";

const fetchingFunction = (origin: string) => `async ({ a, b }) => (await fetch(\`${origin}/?a=\${a}&b=\${b}\`)).json()`;

/** Cost of a tool's HTTP request: a small answer of a server on the same thread, so the ratio tells more than the figures. */
export const fetch: Scenario = {
  name: "fetch",
  description: "a small JSON from a loopback server, fetched by a tool through its host, against undici's fetch alone",
  smoke: { states: ["quiet"], rounds: 1, sampleMs: 20 },
  full: { states: ["quiet"], rounds: 5, sampleMs: 400 },
  async run(context) {
    await using opened = new AsyncDisposableStack();
    const server = opened.use(await openAdder());
    // Disposed of first: servers wait for connections that are open.
    const agent = opened.adopt(new Agent({ connections: CONCURRENCY }), (each) => each.destroy());
    const subjects: Subject[] = [];
    for (const kind of EXECUTORS) {
      const policy = { rules: [{ allow: { fetch: { origins: [], privateOrigins: [server.origin] } } }] };
      const engine = opened.use(await openEngine(kind, { policy }));
      const capabilities = { fetch: { origins: [server.origin] } };
      await engine.register({ ...addTool("get", fetchingFunction(server.origin)), capabilities });
      subjects.push({
        name: `glovebox ${kind}`,
        against: [BARE],
        run: async (index) => sumOf(await call(engine, "get", addArguments(index))),
      });
    }
    subjects.push({
      name: BARE,
      against: [],
      run: async (index) => {
        const { a, b } = addArguments(index);
        const response = await bareFetch(`${server.origin}/?a=${a}&b=${b}`, { dispatcher: agent });
        return sumOf(await response.json());
      },
    });
    return await measure(context, {
      subjects,
      expected: expectedSum,
      latency: { name: "latency_us", unit: "us" },
      concurrencies: [CONCURRENCY],
      cpuConcurrency: CONCURRENCY,
    });
  },
};

/** Adds two numbers of the query. */
async function openAdder(): Promise<AsyncDisposable & { readonly origin: string }> {
  const server = createServer((incoming, response) => {
    const { searchParams } = new URL(incoming.url ?? "/", "http://localhost");
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ sum: Number(searchParams.get("a")) + Number(searchParams.get("b")) }));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
    },
  };
}
