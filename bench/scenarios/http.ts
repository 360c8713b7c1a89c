import { once } from "node:events";
import { Agent, createServer as createHttpServer, type IncomingMessage, request } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { createServer } from "../../src/surfaces/http/server.ts";
import { openEngine, sumOf } from "../engines.ts";
import { measure } from "../sampling.ts";
import type { Scenario } from "../scenario.ts";
import { addArguments, addTool, expectedSum } from "../tools.ts";

const CONCURRENCY = 64;
const BARE = "node:http, JSON echo";

/** What the HTTP surface adds. Server and clients share this thread, so the ratio tells more than the figures. */
export const http: Scenario = {
  name: "http",
  description: "POST /v1/execute over connections that stay open, against a bare node:http echo of JSON",
  smoke: { states: ["quiet"], rounds: 1, sampleMs: 20 },
  full: { states: ["quiet"], rounds: 5, sampleMs: 400 },
  async run(context) {
    await using opened = new AsyncDisposableStack();
    const engine = opened.use(await openEngine("process"));
    await engine.register(addTool("add"));
    const server = opened.use(await createServer(engine, { port: 0 }));
    const bare = opened.use(await openEcho());
    // Disposed of first: servers wait for connections that are open.
    const agent = opened.adopt(new Agent({ keepAlive: true, maxSockets: CONCURRENCY }), (each) => each.destroy());
    const post = (url: string, index: number) =>
      postJson(agent, url, { id: "c", name: "add", arguments: addArguments(index) });
    return await measure(context, {
      subjects: [
        {
          name: "glovebox process",
          against: [BARE],
          run: async (index) => {
            const { output } = (await post(`${server.url}/v1/execute`, index)) as { readonly output: unknown };
            return sumOf(output);
          },
        },
        {
          name: BARE,
          against: [],
          run: async (index) => {
            const { arguments: args } = (await post(bare.url, index)) as {
              readonly arguments: { a: number; b: number };
            };
            return args.a + args.b;
          },
        },
      ],
      expected: expectedSum,
      latency: { name: "latency_us", unit: "us" },
      concurrencies: [CONCURRENCY],
      cpuConcurrency: CONCURRENCY,
    });
  },
};

/** Reads JSON and answers it. */
async function openEcho(): Promise<AsyncDisposable & { readonly url: string }> {
  const server = createHttpServer((incoming, response) => {
    text(incoming).then(
      (body) => {
        response.setHeader("content-type", "application/json");
        response.end(JSON.stringify(JSON.parse(body)));
      },
      () => response.destroy(),
    );
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
    },
  };
}

async function postJson(agent: Agent, url: string, value: unknown): Promise<unknown> {
  const outgoing = request(url, { agent, method: "POST", headers: { "content-type": "application/json" } });
  outgoing.end(JSON.stringify(value));
  const [response] = (await once(outgoing, "response")) as [IncomingMessage];
  const body = await text(response);
  if (response.statusCode !== 200) throw new Error(`${url} answered ${response.statusCode}: ${body}`);
  return JSON.parse(body) as unknown;
}
