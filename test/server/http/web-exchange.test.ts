import { connect } from "node:net";
import { setImmediate } from "node:timers/promises";
import { fastify, type FastifyInstance } from "fastify";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { sendWebResponse, toWebRequest } from "../../../src/server/http/web-exchange.ts";

const STREAM = { headers: { "content-type": "text/event-stream", connection: "keep-alive" } };

describe("a response of the web's standards", () => {
  let app: FastifyInstance;
  let respond: (request: Request) => Response;

  beforeEach(async () => {
    app = fastify();
    app.get("/", (request, reply) => {
      const asked = toWebRequest(request, reply.raw, (name) => name.startsWith("x-"));
      return sendWebResponse(reply, respond(asked));
    });
    await app.listen({ host: "127.0.0.1", port: 0 });
  });
  afterEach(async () => {
    vi.useRealTimers();
    app.server.closeAllConnections();
    await app.close();
  });

  const port = (): number => (app.server.address() as { port: number }).port;
  const get = (init: RequestInit = {}): Promise<Response> => fetch(`http://127.0.0.1:${port()}/`, init);

  test("answers a request that has the headers that were wanted", async () => {
    respond = ({ method, headers }) => Response.json([method, ...headers], { status: 418 });
    const answer = await get({ headers: { "x-a": "1", authorization: "secret" } });
    expect(answer.status).toBe(418);
    expect(await answer.json()).toEqual(["GET", ["x-a", "1"]]);
    expect(answer.headers.get("x-content-type-options")).toBe("nosniff");
  });

  test("tells of itself before its stream has anything to tell", async () => {
    respond = () => new Response(new ReadableStream(), STREAM);
    const answer = await get();
    expect(answer.headers.get("content-type")).toBe("text/event-stream");
    await answer.body?.cancel();
  });

  test("ends its stream, and says so to the request's signal, when the client goes away", async () => {
    const [cancelled, aborted] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    respond = ({ signal }) => {
      signal.addEventListener("abort", () => aborted.resolve());
      return new Response(new ReadableStream({ cancel: () => cancelled.resolve() }), STREAM);
    };
    const answer = await get();
    await answer.body?.cancel();
    await Promise.all([cancelled.promise, aborted.promise]);
  });

  test("is not kept for a client that does not read it", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    let pulled = 0;
    let isCancelled = false;
    const body = new ReadableStream({
      pull(controller) {
        pulled++;
        controller.enqueue(Buffer.alloc(1024 * 1024));
      },
      cancel() {
        isCancelled = true;
      },
    });
    respond = () => new Response(body, STREAM);
    const socket = connect(port(), "127.0.0.1").pause();
    socket.on("error", () => undefined);
    socket.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
    // Until nothing more fits between the two.
    for (let before = -1, rounds = 0; rounds < 1_000; rounds++, before = pulled) {
      await setImmediate();
      if (pulled !== before) rounds = 0;
    }
    expect(pulled).toBeLessThan(100);
    vi.advanceTimersByTime(29_000);
    await setImmediate();
    expect(isCancelled).toBe(false);
    vi.advanceTimersByTime(2_000);
    for (let rounds = 0; !isCancelled && rounds < 10_000; rounds++) await setImmediate();
    expect(isCancelled).toBe(true);
    socket.destroy();
  });
});
