import express, { type Express, type Request } from "express";
import type { Engine } from "glovebox";
import { type Caller, toNodeHandler } from "glovebox/handlers";

/** The sessions of the application. A real one keeps them in a store, and their keys in signed cookies. */
const sessions = new Map([["session-of-ada", { user: "ada", team: "acme" }]]);

function sessionOf(request: Request) {
  return sessions.get(request.get("x-session") ?? "");
}

/** Says who calls: a user calls tools within the tenant of the user's team. `null` is answered with 401. */
function authenticate(request: Request): Caller | null {
  const session = sessionOf(request);
  return session === undefined ? null : { name: session.user, tenant: session.team, roles: ["execute"] };
}

/** An Express application with a route of its own, and the tools of an engine below `/tools`. */
export function createApp(engine: Engine): Express {
  const app = express();
  app.get("/me", (request, response) => {
    response.json(sessionOf(request) ?? null);
  });
  app.use("/tools", toNodeHandler(engine, { authenticate }));
  return app;
}
