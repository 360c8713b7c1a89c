import type { FastifyInstance } from "fastify";
import { addConsole } from "../console/console.ts";
import { addMcp } from "../mcp/http.ts";
import { underSender } from "../trace-context.ts";
import { addCalls } from "./calls.ts";
import type { Surface } from "./surface.ts";
import { addHealth } from "./health.ts";
import { addOpenApi } from "./api/document.ts";
import { addStats } from "./stats.ts";
import { addTools } from "./tools.ts";

/** Adds all routes of an engine. */
export function addRoutes(app: FastifyInstance, surface: Surface): void {
  addOpenApi(app);
  // Set the trace context after the body is read: the active context does not survive that.
  app.addHook("preHandler", ({ headers }, _reply, next) => underSender(headers, next));
  addCalls(app, surface);
  addTools(app, surface);
  addHealth(app, surface);
  addMcp(app, surface);
  addStats(app, surface);
  addConsole(app, surface);
}
