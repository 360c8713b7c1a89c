import assert from "node:assert/strict";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { createEngine } from "glovebox";
import { createClient } from "glovebox/client";
import { createApp } from "./app.ts";
import type greet from "./tools/greet.ts";

test("who has the token calls tools, and nobody else", async () => {
  await using engine = await createEngine({ tools: ["./tools"], workers: 1 });
  const server = createApp(engine, "secret").listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/tools`;
  const greeted = await createClient<[typeof greet]>({ url, key: "secret" }).tools.greet({ name: "Ada" });
  assert.deepEqual(greeted.output, { text: "Hello, Ada!" });
  const refused = await createClient<[typeof greet]>({ url }).tools.greet({ name: "Ada" });
  assert.equal(refused.error?.code, "unauthorized");
  server.close();
  server.closeAllConnections();
});
