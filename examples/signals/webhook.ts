import { timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { callbackPath, openEngine } from "./engine.ts";

const [, , folder = "."] = process.argv;
await using engine = await openEngine(folder);
const { durable } = engine.calls;
const paid = Promise.withResolvers<string>();

/** Passes a payment on to the call that waits for it. The body is read only where the shop made the address. */
async function pass(request: IncomingMessage): Promise<number> {
  const [, , id = ""] = (request.url ?? "").split("/");
  const [given, right] = [Buffer.from(request.url ?? ""), Buffer.from(callbackPath(id))];
  if (given.length !== right.length || !timingSafeEqual(given, right)) return 404;
  const { sum } = (await json(request)) as { sum: number };
  if ((await durable.signal(id, "payment", { sum })) === undefined) return 404;
  paid.resolve(id);
  return 204;
}

const webhook = createServer((request, response) => {
  const end = (status: number) => void response.writeHead(status).end(() => console.log("webhook:", status));
  pass(request).then(end, () => end(400));
}).listen(0, "127.0.0.1", () => process.send?.((webhook.address() as AddressInfo).port));

const result = await durable.result(await paid.promise, {}, { waitMs: 25_000 });
console.log("webhook: the order has ended", result?.output);
webhook.close();
