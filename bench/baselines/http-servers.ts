/**
 * A server in a process of its own, for load from another one: `glovebox` with a tool that adds; `fastify`, which answers the
 * body that it was sent; `ajv`, which checks the body and answers as many bytes as `glovebox`; `kilobyte`, which answers 1 KiB
 * of text. Says its address to its parent, and ends with it.
 */
import { once } from "node:events";
import { createServer as createPlainServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fastify } from "fastify";
import { createServer } from "../../src/server/http/server.ts";
import { openEngineAsItComes } from "../engines.ts";
import type { ServerKind } from "../server-process.ts";
import { addTool } from "../tools.ts";

async function openGlovebox(): Promise<string> {
  const engine = await openEngineAsItComes("process", { codeMode: { typeCheck: "off" } });
  await engine.register(addTool("add"));
  const server = await createServer(engine, { port: 0 });
  return server.url;
}

async function openEcho(): Promise<string> {
  const app = fastify();
  app.post("/v1/execute", (request, reply) => reply.send(request.body));
  return await app.listen({ host: "127.0.0.1", port: 0 });
}

/** A body with the schema of a call and its arguments, and an answer of the same members. */
async function openChecked(): Promise<string> {
  const app = fastify();
  const number = { type: "number" };
  const body = {
    type: "object",
    properties: {
      id: { type: "string", maxLength: 128 },
      name: { type: "string" },
      arguments: { type: "object", properties: { a: number, b: number }, required: ["a", "b"] },
    },
    required: ["name", "arguments"],
  };
  app.post<{ Body: Body }>("/v1/execute", { schema: { body } }, (request, reply) => {
    const { id, name, arguments: args } = request.body;
    const times = { queueMs: 0.0123456789, wallMs: 0.123456789, cpuMs: 0.00123456789 };
    const metadata = { callId: id, tool: name, ...times, heapBytes: 1_234_567, attempts: 1, logs: [] };
    return reply.send({ success: true, output: { sum: args.a + args.b }, error: null, metadata });
  });
  return await app.listen({ host: "127.0.0.1", port: 0 });
}

interface Body {
  readonly id: string;
  readonly name: string;
  readonly arguments: { readonly a: number; readonly b: number };
}

async function openKilobyte(): Promise<string> {
  const text = "x".repeat(1_024);
  const server = createPlainServer((_, response) => {
    response.setHeader("content-type", "text/plain");
    response.end(text);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const SERVERS: { readonly [Kind in ServerKind]: () => Promise<string> } = {
  glovebox: openGlovebox,
  fastify: openEcho,
  ajv: openChecked,
  kilobyte: openKilobyte,
};

process.once("disconnect", () => process.exit());
process.send?.(await SERVERS[process.argv[2] as ServerKind]());
