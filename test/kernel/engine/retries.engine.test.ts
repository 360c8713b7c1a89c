import { afterEach, beforeEach, expect, test } from "vitest";
import { createEngine, type Engine } from "../../../src/glovebox/index.ts";
import { serve, type TestServer } from "../broker/capabilities/fetch/server.ts";

let engine: Engine;
let server: TestServer;

/** Breaks the connection of the first request with `?broken`, and answers the first one with `?busy` with 503. */
beforeEach(async () => {
  const failed = new Set<string>();
  server = await serve(({ url = "", socket }, response) => {
    const isFirst = !failed.has(url);
    failed.add(url);
    if (isFirst && url.includes("broken")) {
      socket.destroy();
      return;
    }
    response.statusCode = isFirst && url.includes("busy") ? 503 : 200;
    response.end("done");
  });
  const fetch = { origins: [], privateOrigins: [server.origin], methods: ["GET", "HEAD", "POST"] };
  engine = await createEngine({ workers: 1, executor: "threads", policy: { rules: [{ allow: { fetch } }] } });
});
afterEach(async () => {
  await engine.close();
  await server[Symbol.asyncDispose]();
});

async function run(method: string, query: string): Promise<unknown> {
  await engine.register({
    name: "asker",
    description: "Asks a server.",
    retries: 1,
    retryOn: "failure",
    capabilities: { fetch: { origins: [server.origin], methods: ["GET", "HEAD", "POST"] } },
    source: `export default async ({ url, method }) => {
      const response = await fetch(url, { method });
      if (!response.ok) throw new Error("status " + response.status);
      return response.status;
    };`,
  });
  const call = { name: "asker", arguments: { url: `${server.origin}/?${query}`, method } };
  const { output, error, metadata } = await engine.execute(call);
  return [output, error?.code, metadata.attempts];
}

test.each([
  ["GET", "busy"],
  ["HEAD", "busy"],
  ["GET", "broken"],
])("a tool that failed after a %s request that was %s runs again", async (method, query) => {
  expect(await run(method, query)).toEqual([200, undefined, 2]);
});

test("a tool that failed after a POST request does not run again: it may have changed something", async () => {
  expect(await run("POST", "busy")).toEqual([null, "tool_error", 1]);
});
