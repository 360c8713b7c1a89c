import { json, refusals, type RouteDescription } from "./route-description.ts";

const TEXTS = { type: "array", items: { type: "string" } };
const NULLABLE = { type: ["string", "null"] };
const CONNECTOR = {
  type: "object",
  properties: {
    name: { type: "string" },
    kind: { type: "string", enum: ["openapi", "mcp"] },
    server: { ...NULLABLE, description: "URL of its server; `null` for a process." },
    state: { type: "string", enum: ["up", "down"] },
    problem: { ...NULLABLE, description: "Why it is down." },
    tools: { ...TEXTS, description: "Names of its tools." },
    digest: { ...NULLABLE, description: "Digest of the list that its server has now, for the option `pin`." },
    pin: NULLABLE,
    findings: {
      type: "array",
      description: "Operations that are not tools, with the reasons.",
      items: {
        type: "object",
        properties: { tool: NULLABLE, reason: { type: "string" } },
        required: ["tool", "reason"],
      },
    },
    login: {
      type: ["object", "null"],
      description: "Its login, as its last use left it; `null` where it has none.",
      properties: {
        auth: { type: "string", enum: ["clientCredentials", "refreshToken", "authorizationCode"] },
        state: { type: "string", enum: ["unused", "ready", "needed", "failing"] },
        reason: { ...NULLABLE, description: "Why there is no token, and what to do." },
        tenants: { ...TEXTS, description: "Tenants that need a login of their own, at most 100." },
      },
      required: ["auth", "state", "reason", "tenants"],
    },
  },
  required: ["name", "kind", "server", "state", "problem", "tools", "digest", "pin", "findings", "login"],
};

export const LIST_CONNECTORS: RouteDescription = {
  id: "listConnectors",
  tag: "tools",
  summary: "Lists the connectors.",
  answers: { 200: json("The connectors, as they are now.", { type: "array", items: CONNECTOR }) },
};

export const REFRESH_CONNECTOR: RouteDescription = {
  id: "refreshConnector",
  tag: "tools",
  summary: "Reads the tools of a connector again.",
  params: { name: "The connector's name." },
  answers: {
    200: json("The connector with its tools.", CONNECTOR),
    ...refusals({
      404: "There is no such connector.",
      422: "Its document or its list cannot be read: `error.message` says why.",
      502: "Its server cannot be reached.",
    }),
  },
};

export const LOGIN_CONNECTOR: RouteDescription = {
  id: "loginConnector",
  tag: "tools",
  summary: "Begins the login of a connector, which a browser finishes.",
  description:
    "For a connector with an `auth` of the kind `authorizationCode`. The authorization server sends the browser back to `/v1/connectors/callback` below `publicUrl`, which has to be a redirect URI of the client.",
  params: { name: "The connector's name." },
  query: { tenant: "Tenant of the login, for a connector with `perTenant`. Default: the operator's own login." },
  answers: {
    200: json("Where the browser goes.", {
      type: "object",
      properties: {
        url: { type: "string" },
        expiresInMs: { type: "integer", description: "Time in which the login has to be finished." },
      },
      required: ["url", "expiresInMs"],
    }),
    ...refusals({
      400: "The connector has no such login.",
      404: "There is no such connector.",
      429: "Too many logins wait for a browser.",
      502: "The authorization server cannot be reached, or refuses.",
    }),
  },
};

export const FINISH_LOGIN: RouteDescription = {
  id: "finishConnectorLogin",
  tag: "tools",
  summary: "Finishes a login: the address to which an authorization server sends a browser back.",
  query: { code: "The authorization code.", state: "The state of the login." },
  answers: {
    200: { description: "The login is stored.", content: { "text/plain": { schema: { type: "string" } } } },
    400: {
      description: "No login waits, or the server refuses.",
      content: { "text/plain": { schema: { type: "string" } } },
    },
  },
};
