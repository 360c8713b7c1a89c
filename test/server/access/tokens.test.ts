import { createServer, type ServerResponse } from "node:http";
import { once } from "node:events";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Tokens } from "../../../src/server/access/tokens.ts";

/** Requests that an authorization server has not answered yet. */
const waiting: ServerResponse[] = [];
const server = createServer((_request, response) => void waiting.push(response));

beforeAll(async () => {
  await once(server.listen(0, "127.0.0.1"), "listening");
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

function urlOfServer(): string {
  const address = server.address();
  return `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}/introspect`;
}

async function openTokens(url = urlOfServer()): Promise<Tokens> {
  const introspection = { url, clientId: "glovebox", clientSecret: { env: "SECRET" } };
  const options = {
    issuer: "https://login.example.com",
    introspection,
    tenant: "a",
    scopes: { x: ["execute"] },
  } as const;
  return Tokens.open(options, "https://tools.example.com", { SECRET: "secret" });
}

async function answerAll(count: number, checks: readonly Promise<unknown>[]): Promise<void> {
  await expect.poll(() => waiting.length).toBe(count);
  for (const response of waiting.splice(0)) response.end(JSON.stringify({ active: false }));
  await Promise.all(checks);
}

test("senders of many wrong tokens leave room for others, and get it again", async () => {
  const tokens = await openTokens();
  const suspect = Array.from({ length: 16 }, (_, at) => tokens.check(`suspect-${at}`, true));
  expect(await tokens.check("suspect-16", true)).toMatchObject({ kind: "unavailable" });
  const other = tokens.check("other");
  await answerAll(17, [...suspect, other]);
  const again = tokens.check("suspect-16", true);
  await answerAll(1, [again]);
  expect(await again).toEqual({ kind: "invalid", reason: "the token is not active" });
});

test("no more than 256 tokens are checked at once, and one that many send once", async () => {
  const tokens = await openTokens();
  const checks = Array.from({ length: 256 }, (_, at) => tokens.check(`token-${at}`));
  const same = Array.from({ length: 50 }, () => tokens.check("token-0"));
  expect(await tokens.check("token-256")).toMatchObject({ kind: "unavailable" });
  await answerAll(256, [...checks, ...same]);
});

test("the reason why the authorization server cannot be asked is the system's code", async () => {
  const closed = createServer();
  await once(closed.listen(0, "127.0.0.1"), "listening");
  const address = closed.address();
  const port = typeof address === "object" ? address?.port : 0;
  await new Promise((resolve) => closed.close(resolve));
  const tokens = await openTokens(`http://127.0.0.1:${port}/introspect`);
  const reason = "the authorization server cannot be asked: ECONNREFUSED";
  expect(await tokens.check("token")).toEqual({ kind: "unavailable", reason });
});
