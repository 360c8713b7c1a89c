import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { createEngine } from "glovebox";
import { callbackPath, createWebhook } from "./webhook.ts";

const SECRET = "of the shop and nobody else";
await using engine = await createEngine({
  tools: ["./tools"],
  workers: 1,
  policy: { rules: [{ allow: { tools: ["order"], pause: true } }] },
});
const webhook = createWebhook(engine, SECRET).listen(0, "127.0.0.1");
await once(webhook, "listening");
const bank = `http://127.0.0.1:${(webhook.address() as AddressInfo).port}`;

const { error } = await engine.execute({ name: "order", arguments: { item: "lamp" } });
if (error?.code !== "paused") throw new Error("the order does not wait");
const id = error.details?.id ?? "";
console.log(error.message.replace(id, "…"));

const pay = async (path: string) =>
  (await fetch(`${bank}${path}`, { method: "POST", body: JSON.stringify({ sum: 12 }) })).status;
console.log("somebody else:", await pay(`/paid/${id}/0000`));
console.log("the bank:", await pay(callbackPath(id, SECRET)));

const result = await engine.calls.durable.result(id, {}, { waitMs: 25_000 });
console.log(result?.output);
webhook.close();
