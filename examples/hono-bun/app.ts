import type { Engine } from "glovebox";
import { toFetchHandler } from "glovebox/handlers";
import { Hono } from "hono";

/** Tokens of the application's users. */
const users = new Map([["token-of-ada", "ada"]]);

function userOf(headers: Headers): string | undefined {
  return users.get(headers.get("authorization")?.replace("Bearer ", "") ?? "");
}

/** A Hono application with a route of its own, and the tools of an engine below `/tools`. */
export function createApp(engine: Engine): Hono {
  const glovebox = toFetchHandler(engine, {
    basePath: "/tools",
    authenticate: ({ headers }) => {
      const user = userOf(headers);
      return user === undefined ? null : { name: user, tenant: user, roles: ["execute"] };
    },
  });
  return new Hono()
    .get("/me", ({ req, json }) => json({ user: userOf(req.raw.headers) ?? null }))
    .all("/tools/*", ({ req }) => glovebox(req.raw));
}
