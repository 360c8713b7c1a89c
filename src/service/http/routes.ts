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
export function addRoutes(app: FastifyInstance, door: Surface): void {
  addOpenApi(app);
  // After the body is read: what is active does not outlive that.
  app.addHook("preHandler", ({ headers }, _reply, next) => underSender(headers, next));
  addCalls(app, door);
  addTools(app, door);
  addHealth(app, door);
  addMcp(app, door);
  addStats(app, door);
  addConsole(app, door);
}
