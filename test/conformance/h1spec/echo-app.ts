import type { FastifyInstance } from "fastify";
import type { Engine } from "../../../src/glovebox/index.ts";
import { ScopedEngine } from "../../../src/server/access/scoped-engine.ts";
import { Keys } from "../../../src/server/access/keys.ts";
import { createApp } from "../../../src/server/http/app.ts";
import { OriginCheck } from "../../../src/server/http/origin-check.ts";

const BODY_BYTES = 100_000;

/** The server's app, with its parser, limits and checks, and the route that h1spec asks for in the place of its own. */
export async function createEchoApp(engine: Engine, hosts: readonly string[]): Promise<FastifyInstance> {
  const keys = new Keys([]);
  const originCheck = new OriginCheck({ hosts }, { host: "127.0.0.1", hasKeys: false });
  const gate = new ScopedEngine(engine, keys);
  const app = await createApp(BODY_BYTES, { engine, gate, keys, isAdminOpen: false, originCheck });
  app.addContentTypeParser("*", { parseAs: "buffer" }, (_request, body, done) => done(null, body));
  app.all("/", { config: { role: "anybody", api: "none" } }, async (request, reply) => reply.send(request.body ?? ""));
  await app.listen({ port: 0, host: "127.0.0.1" });
  return app;
}
