import { fastify, type FastifyInstance } from "fastify";
import type { Engine } from "glovebox";
import { gloveboxFastify } from "glovebox/fastify";

/** An application with the tools of an engine below `/tools`, for one user who has a token. */
export async function createApp(engine: Engine, token: string): Promise<FastifyInstance> {
  const app = fastify();
  app.get("/", () => "The application's own page");
  await app.register(gloveboxFastify, {
    engine,
    prefix: "/tools",
    // Your own login decides who calls. `null` is answered with 401.
    authenticate: ({ headers }) =>
      headers.authorization === `Bearer ${token}` ? { name: "user", tenant: "user", roles: ["execute"] } : null,
  });
  app.addHook("onClose", () => engine.close());
  return app;
}
