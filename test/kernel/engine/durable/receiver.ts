import { createHmac, timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

/** What a receiver of notifications reads in a body. */
export interface ReceivedBody {
  readonly type: string;
  readonly timestamp: string;
  readonly data: {
    readonly id: string;
    readonly callId: string;
    readonly tool: string;
    readonly tenant: string;
    readonly state: string;
    readonly code: string | null;
    readonly waits: readonly Readonly<Record<string, unknown>>[];
  };
}

export interface Received {
  readonly id: string;
  readonly raw: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: ReceivedBody;
}

/** An HTTP server that takes notifications. `answer`: what it does in the place of answering 204. */
export async function receiver(
  answer: (response: ServerResponse, received: Received) => void = (response) => void response.writeHead(204).end(),
  port = 0,
) {
  const all: Received[] = [];
  const server = createServer((request, response) => {
    void text(request).then((raw) => {
      const { headers } = request;
      const received = { id: String(headers["webhook-id"]), raw, headers, body: JSON.parse(raw) as ReceivedBody };
      all.push(received);
      answer(response, received);
    });
  });
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  const { port: bound } = server.address() as AddressInfo;
  return {
    all,
    port: bound,
    url: `http://127.0.0.1:${bound}/hook`,
    of: (type: string) => all.filter(({ body }) => body.type === type),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

/** Whether a request has the signature that Standard Webhooks asks for. */
export function isSigned({ raw, headers }: Pick<Received, "raw" | "headers">, secret: string): boolean {
  const key = secret.startsWith("whsec_") ? Buffer.from(secret.slice(6), "base64") : Buffer.from(secret);
  const content = `${String(headers["webhook-id"])}.${String(headers["webhook-timestamp"])}.${raw}`;
  const expected = Buffer.from(createHmac("sha256", key).update(content).digest("base64"));
  return String(headers["webhook-signature"])
    .split(" ")
    .some((one) => {
      const [version, signature = ""] = one.split(",");
      const given = Buffer.from(signature);
      return version === "v1" && given.length === expected.length && timingSafeEqual(given, expected);
    });
}
