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

async function openTokens(): Promise<Tokens> {
  const address = server.address();
  const url = `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}/introspect`;
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
