import { afterAll, beforeAll, expect, test } from "vitest";
import type { Engine, Progress } from "../../../src/glovebox/index.ts";
import { type HandServer, openConnected, serveByHand } from "./mcp-by-hand.ts";

const KEY = "a key that nobody sees";
const REPORTS = 200;
let hand: HandServer;
let engine: Engine;
/** Tokens with which the server was asked for progress. */
const asked: unknown[] = [];

beforeAll(async () => {
  hand = await serveByHand([{ name: "pack" }]);
  hand.guard = ({ body, headers }, response) => {
    const { id, method, params } = JSON.parse(body === "" ? "{}" : body) as {
      id?: number;
      method?: string;
      params?: { _meta?: { progressToken?: unknown } };
    };
    if (method !== "tools/call") return false;
    const progressToken = params?._meta?.progressToken;
    asked.push(progressToken);
    response.writeHead(200, { "content-type": "text/event-stream" });
    const send = (message: object): void =>
      void response.write(`data: ${JSON.stringify({ jsonrpc: "2.0", ...message })}\n\n`);
    for (let progress = 1; progress <= REPORTS && progressToken !== undefined; progress++) {
      const message = `${String(headers["x-key"])} ${"long ".repeat(300)}`;
      send({ method: "notifications/progress", params: { progressToken, progress, total: REPORTS, message } });
    }
    send({ id, result: { content: [{ type: "text", text: "packed" }] } });
    response.end();
    return true;
  };
  engine = await openConnected({
    workers: 1,
    connectors: { hand: { mcp: { url: `${hand.origin}/mcp`, headers: { "x-key": "{secret:KEY}" } } } },
    secrets: { KEY: { value: KEY, bind: [{ origin: hand.origin, in: "header:x-key" }] } },
    policy: { rules: [{ tools: ["hand.*"], allow: { connector: ["hand"] } }] },
  });
});
afterAll(async () => {
  await engine.close();
  await hand[Symbol.asyncDispose]();
});

const CALL = { name: "hand.pack", arguments: {} };

test("progress of an MCP server's tool reaches the caller: a few reports, the last one before the answer, without secrets", async () => {
  const reports: Progress[] = [];
  const { output } = await engine.execute(CALL, { onProgress: (report) => reports.push(report) });
  expect(output).toBe("packed");
  const [first, last] = [reports[0], reports.at(-1)];
  expect([first?.progress, last?.progress, last?.total]).toEqual([1, REPORTS, REPORTS]);
  expect(reports.length).toBeLessThan(REPORTS / 2);
  expect(last?.message).toHaveLength(1_000);
  expect(last?.message).toMatch(/^glovebox\.secret\.KEY\. long/);
});

test("an MCP server is not asked for progress to which nobody listens", async () => {
  asked.length = 0;
  expect((await engine.execute(CALL)).output).toBe("packed");
  expect(asked).toEqual([undefined]);
});
