import type { FastifyInstance } from "fastify";
import { addConsole } from "../console/console.ts";
import { addMcp } from "../mcp/http.ts";
import { underSender } from "../trace-context.ts";
import { addAgentSpace } from "./agentspace.ts";
import { addCalls } from "./calls.ts";
import { addConnectors } from "./connectors.ts";
import { addDecisionLinks } from "./decision-links.ts";
import { addDurableCalls } from "./durable-calls.ts";
import { addKeptCalls } from "./kept-calls.ts";
import { addCode } from "./code.ts";
import type { Surface } from "./surface.ts";
import { addHealth, addMetrics } from "./health.ts";
import { addOpenApi } from "./api/document.ts";
import { ROUTE_GROUPS, type RouteGroup } from "./route-groups.ts";
import { addPolicy } from "./policy.ts";
import { addSnippets } from "./snippets.ts";
import { addStats } from "./stats.ts";
import { addTools } from "./tools.ts";

const ALL: ReadonlySet<RouteGroup> = new Set(ROUTE_GROUPS);

/** Adds routes of an engine: all, or those of some groups. Those of assets need a
 * store: `addAssets` adds them. */
export function addRoutes(app: FastifyInstance, surface: Surface, groups = ALL): void {
  if (groups.has("openapi")) addOpenApi(app, surface);
  // Set the trace context after the body is read: the active context does not survive that.
  app.addHook("preHandler", ({ headers }, _reply, next) => underSender(headers, next));
  if (groups.has("execute")) addCalls(app, surface);
  if (groups.has("execute")) addCode(app, surface);
  if (groups.has("tools") || groups.has("admin")) addTools(app, surface, groups);
  if (groups.has("admin")) addConnectors(app, surface);
  if (groups.has("admin")) addPolicy(app, surface);
  if (groups.has("admin")) addSnippets(app, surface);
  if (groups.has("metrics")) addMetrics(app, surface);
  if (groups.has("calls")) addKeptCalls(app, surface);
  if (groups.has("calls")) addDurableCalls(app, surface);
  if (groups.has("calls")) addDecisionLinks(app, surface);
  if (groups.has("health")) addHealth(app, surface);
  if (groups.has("mcp")) addMcp(app, surface);
  if (groups.has("stats")) addStats(app, surface);
  if (groups.has("agentspace")) addAgentSpace(app, surface);
  if (groups.has("console")) addConsole(app, surface);
}
