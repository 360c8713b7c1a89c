import { once } from "node:events";
import { type ClientRequest, type IncomingMessage, request } from "node:http";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createEngine, type Engine, type ToolResult } from "../../../src/glovebox/index.ts";
import { type Host, HOSTS } from "./hosts.ts";

const MIB = 1024 * 1024;
const PIECE = Buffer.alloc(64 * 1024, " ");
const TOO_MANY = 65 * MIB;
/** Memory that a body may take before it is refused. */
const MEMORY_MAX = 100 * MIB;
const JSON_HEAD = { "content-type": "application/json" };

let engine: Engine;

beforeAll(async () => {
  const source = "export default (input) => JSON.stringify(input).length;";
  const tool = { name: "measure", description: "Measures its input.", source };
  const repeat = {
    name: "repeat",
    description: "Repeats a text.",
    source: "export default ({ n }) => '0123'.repeat(n);",
  };
  engine = await createEngine({ workers: 1, executor: "threads", tools: [tool, repeat] });
});

afterAll(() => engine.close({ drainMs: 0 }));

/** Sends pieces until there is an answer, and no more than were announced. */
async function pour(client: ClientRequest): Promise<IncomingMessage> {
  const answered = once(client, "response") as Promise<[IncomingMessage]>;
  let isAnswered = false;
  void answered.then(() => (isAnswered = true));
  // The server closes the connection: it does not read the rest.
  client.on("error", () => undefined);
  for (let sent = 0; sent < TOO_MANY && !isAnswered && !client.destroyed; sent += PIECE.length) {
    if (!client.write(PIECE)) await Promise.race([once(client, "drain"), answered]);
  }
  // Express reads a body that it refuses to its end.
  client.end();
  const [response] = await answered;
  client.destroy();
  return response;
}

describe.each(Object.entries(HOSTS))("mounted in %s", (name, open) => {
  let host: Host;

  beforeEach(async () => {
    host = await open(engine, { allowAnybody: true });
  });

  afterEach(() => host[Symbol.asyncDispose]());

  test.each([
    ["of 65 MiB", { "content-length": String(TOO_MANY) }],
    ["of 65 MiB without a length", {}],
  ])("a body %s is refused, and takes little memory", async (_what, headers) => {
    globalThis.gc?.();
    const before = process.memoryUsage.rss();
    let most = before;
    const timer = setInterval(() => (most = Math.max(most, process.memoryUsage.rss())), 5);
    const response = await pour(
      request(`${host.url}/v1/execute`, { method: "POST", headers: { ...JSON_HEAD, ...headers } }),
    );
    clearInterval(timer);
    expect(response.statusCode).toBe(413);
    expect(most - before).toBeLessThan(MEMORY_MAX);
  });

  test.each([
    ["1,001 levels", `${"[".repeat(999)}${"]".repeat(999)}`, 400],
    ["1,000 levels", `${"[".repeat(998)}${"]".repeat(998)}`, 200],
    ["400,001 values", `[${"0,".repeat(400_000)}0]`, 200],
  ])("a body of %s gets what it gets from the service", async (_what, value, status) => {
    const body = `{"name":"measure","arguments":{"a":${value}}}`;
    const response = await fetch(`${host.url}/v1/execute`, { method: "POST", headers: JSON_HEAD, body });
    expect([response.status, name]).toEqual([status, name]);
    const { error } = (await response.json()) as ToolResult;
    expect(error?.code).toBe(status === 200 ? undefined : "invalid_arguments");
  });

  test.each(["application/json", "text/event-stream"])("an answer of 4 MiB as %s arrives whole", async (accept) => {
    const body = JSON.stringify({
      name: "repeat",
      arguments: { n: MIB },
      options: { limits: { outputBytes: 8 * MIB } },
    });
    const headers = { ...JSON_HEAD, accept };
    const response = await fetch(`${host.url}/v1/execute`, { method: "POST", headers, body });
    expect(response.status).toBe(200);
    expect((await response.text()).includes("0123".repeat(MIB))).toBe(true);
  });
});
