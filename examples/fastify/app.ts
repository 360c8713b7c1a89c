import { fastify, type FastifyInstance } from "fastify";
import type { Engine } from "glovebox";
import { gloveboxFastify } from "glovebox/fastify";

declare module "fastify" {
  interface FastifyRequest {
    user: string | null;
  }
}

/** A Fastify application with routes of its own, and the tools of an engine below `/tools`. */
export async function createApp(engine: Engine): Promise<FastifyInstance> {
  const app = fastify();

  // The application's own login. Its hooks run before the plugin's routes as well.
  app.decorateRequest("user", null);
  app.addHook("onRequest", async (request) => {
    const name = request.headers["x-user"];
    request.user = typeof name === "string" ? name : null;
  });
  app.get("/me", ({ user }) => ({ user }));

  // Each user is a tenant: tenants share neither isolates nor stored values nor places in the queue.
  await app.register(gloveboxFastify, {
    engine,
    prefix: "/tools",
    authenticate: ({ user }) => (user === null ? null : { name: user, tenant: user, roles: ["execute"] }),
  });
  app.addHook("onClose", () => engine.close());
  return app;
}
