import type { FastifyInstance } from "fastify";
import { addCalls } from "./calls.ts";
import type { Door } from "./door.ts";
import { addHealth } from "./health.ts";
import { addOpenApi } from "./openapi.ts";
import { addTools } from "./tools.ts";

/** Adds all routes of an engine. */
export function addRoutes(app: FastifyInstance, door: Door): void {
  addOpenApi(app);
  addCalls(app, door);
  addTools(app, door);
  addHealth(app, door);
}
