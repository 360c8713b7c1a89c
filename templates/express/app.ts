import express, { type Express } from "express";
import type { Engine } from "glovebox";
import { toNodeHandler } from "glovebox/handlers";

/** An application with the tools of an engine below `/tools`, for one user who has a token. */
export function createApp(engine: Engine, token: string): Express {
  const tools = toNodeHandler(engine, {
    // Your own login decides who calls. `null` is answered with 401.
    authenticate: ({ headers }) =>
      headers.authorization === `Bearer ${token}` ? { name: "user", tenant: "user", roles: ["execute"] } : null,
  });
  const app = express();
  app.get("/", (_request, response) => {
    response.send("The application's own page");
  });
  app.use("/tools", tools);
  return app;
}
