/**
 * A server in a process of its own, for load from another one: `glovebox` with a tool that adds, or `fastify`, which
 * answers the body that it was sent. Says its address to its parent, and ends with it.
 */
import { fastify } from "fastify";
import { createServer } from "../../src/service/http/server.ts";
import { openEngineAsItComes } from "../engines.ts";
import { addTool } from "../tools.ts";

async function openGlovebox(): Promise<string> {
  const engine = await openEngineAsItComes("process");
  await engine.register(addTool("add"));
  const server = await createServer(engine, { port: 0 });
  return server.url;
}

async function openEcho(): Promise<string> {
  const app = fastify();
  app.post("/v1/execute", (request, reply) => reply.send(request.body));
  return await app.listen({ host: "127.0.0.1", port: 0 });
}

process.once("disconnect", () => process.exit());
process.send?.(await (process.argv[2] === "fastify" ? openEcho() : openGlovebox()));
