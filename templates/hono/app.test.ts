import assert from "node:assert/strict";
import { test } from "node:test";
import { createEngine } from "glovebox";
import { createApp } from "./app.ts";

test("who has the token calls tools, and nobody else", async () => {
  await using engine = await createEngine({ tools: ["./tools"], workers: 1 });
  const app = createApp(engine, "secret");
  const body = JSON.stringify({ name: "greet", arguments: { name: "Ada" } });
  const post = { method: "POST", body };
  const headers = { "content-type": "application/json", authorization: "Bearer secret" };
  const greeted = await app.request("/tools/v1/execute", { ...post, headers });
  assert.deepEqual(((await greeted.json()) as { output: unknown }).output, { text: "Hello, Ada!" });
  assert.equal((await app.request("/tools/v1/execute", post)).status, 401);
});
