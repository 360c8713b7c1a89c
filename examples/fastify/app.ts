import { fastify, type FastifyInstance } from "fastify";
import { type Engine, ERRORS } from "glovebox";

/** A Fastify application whose users call tools at `POST /tools/{name}`, within their own tenant. */
export function createApp(engine: Engine): FastifyInstance {
  const app = fastify();

  app.get("/tools", () => engine.list().map(({ name, description }) => ({ name, description })));

  app.post<{ Params: { name: string }; Body: Record<string, unknown> }>("/tools/:name", async (request, reply) => {
    // A client that goes away cancels its call.
    const gone = new AbortController();
    reply.raw.once("close", () => gone.abort());
    const tenant = String(request.headers["x-user"] ?? "anonymous");
    const { success, output, error } = await engine.execute(
      { name: request.params.name, arguments: request.body },
      { tenant, signal: gone.signal },
    );
    if (success) return output;
    return reply.code(error === null ? 500 : ERRORS[error.code].http).send({ error });
  });

  app.addHook("onClose", () => engine.close());
  return app;
}
