import assert from "node:assert/strict";
import { test } from "node:test";
import { createEngine } from "glovebox";
import { createApp } from "./app.ts";

test("who has the token calls tools, and nobody else", async () => {
  await using app = await createApp(await createEngine({ tools: ["./tools"], workers: 1 }), "secret");
  const payload = { name: "greet", arguments: { name: "Ada" } };
  const post = { method: "POST", url: "/tools/v1/execute", payload } as const;
  const greeted = await app.inject({ ...post, headers: { authorization: "Bearer secret" } });
  assert.deepEqual(greeted.json<{ output: unknown }>().output, { text: "Hello, Ada!" });
  assert.equal((await app.inject(post)).statusCode, 401);
});
