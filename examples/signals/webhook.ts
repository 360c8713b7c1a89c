import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";
import { json } from "node:stream/consumers";
import type { Engine } from "glovebox";

const signatureOf = (path: string, secret: string) => createHmac("sha256", secret).update(path).digest("hex");

/** Where the bank calls back about a call. Nobody else can make the address. */
export const callbackPath = (id: string, secret: string) => `/paid/${id}/${signatureOf(id, secret)}`;

/** A webhook that passes payments on to calls that wait for them. */
export const createWebhook = (engine: Engine, secret: string) =>
  createServer(async (request, response) => {
    const [, , id = "", signature = ""] = (request.url ?? "").split("/");
    const [given, right] = [Buffer.from(signature), Buffer.from(signatureOf(id, secret))];
    const isRight = given.length === right.length && timingSafeEqual(given, right);
    const { sum } = isRight ? ((await json(request)) as { sum: number }) : { sum: 0 };
    const call = isRight ? await engine.calls.durable.signal(id, "payment", { sum }) : undefined;
    response.writeHead(call === undefined ? 404 : 204).end();
  });
