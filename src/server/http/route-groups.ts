/** Groups of routes, in which they are added to a server. */
export const ROUTE_GROUPS = [
  /** `POST /v1/execute`, and batches. */
  "execute",
  /** Lists, describes and explains tools. */
  "tools",
  "mcp",
  /** `/healthz` and `/readyz`. */
  "health",
  /** `/openapi.json`, which describes the routes of the other groups. */
  "openapi",
  "stats",
  "metrics",
  /** Lists and shows kept calls and calls that wait, and decides these. */
  "calls",
  /** Registers and removes tools, reads those of connectors again, and simulates policies. */
  "admin",
  "console",
  /** Uploads of AgentSpace packages. */
  "assets",
  /** Registers, lists and searches AgentSpace's records. */
  "agentspace",
] as const;

export type RouteGroup = (typeof ROUTE_GROUPS)[number];
