import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createEngine, sharedEngine } from "glovebox";
import { POST } from "./app/tools/[...path]/route.ts";

process.env["APP_TOKEN"] = "secret";
const engine = await sharedEngine("tools", () => createEngine({ tools: ["./tools"], workers: 1 }));
after(() => engine.close());

test("who has the token calls tools, and nobody else", async () => {
  const body = JSON.stringify({ name: "greet", arguments: { name: "Ada" } });
  const post = (authorization: string) => {
    const headers = { "content-type": "application/json", authorization };
    return POST(new Request("http://localhost/tools/v1/execute", { method: "POST", headers, body }));
  };
  const greeted = (await (await post("Bearer secret")).json()) as { output: unknown };
  assert.deepEqual(greeted.output, { text: "Hello, Ada!" });
  assert.equal((await post("Bearer wrong")).status, 401);
});
