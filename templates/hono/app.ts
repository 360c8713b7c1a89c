import type { Engine } from "glovebox";
import { toFetchHandler } from "glovebox/handlers";
import { Hono } from "hono";

/** An application with the tools of an engine below `/tools`, for one user who has a token. */
export function createApp(engine: Engine, token: string): Hono {
  const tools = toFetchHandler(engine, {
    basePath: "/tools",
    // Your own login decides who calls. `null` is answered with 401.
    authenticate: ({ headers }) =>
      headers.get("authorization") === `Bearer ${token}` ? { name: "user", tenant: "user", roles: ["execute"] } : null,
  });
  return new Hono()
    .get("/", (context) => context.text("The application's own page"))
    .all("/tools/*", ({ req }) => tools(req.raw));
}
