import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage } from "node:http";
import { json } from "node:stream/consumers";
import type { Engine } from "glovebox";

const signatureOf = (path: string, secret: string) => createHmac("sha256", secret).update(path).digest("hex");

/** Where the bank calls back about a call. Nobody else can make the address. */
export const callbackPath = (id: string, secret: string) => `/paid/${id}/${signatureOf(id, secret)}`;

/** A webhook that passes payments on to calls that wait for them. */
export const createWebhook = (engine: Engine, secret: string) =>
  createServer((request, response) => {
    const end = (status: number) => void response.writeHead(status).end();
    pass(engine, secret, request).then(end, () => end(400));
  });

async function pass(engine: Engine, secret: string, request: IncomingMessage): Promise<number> {
  const [, , id = "", signature = ""] = (request.url ?? "").split("/");
  const [given, right] = [Buffer.from(signature), Buffer.from(signatureOf(id, secret))];
  if (given.length !== right.length || !timingSafeEqual(given, right)) return 404;
  const { sum } = (await json(request)) as { sum: number };
  return (await engine.calls.durable.signal(id, "payment", { sum })) === undefined ? 404 : 204;
}
