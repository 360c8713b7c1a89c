/** Requests whose answers are the same in all servers. */

export interface Asked {
  readonly says: string;
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** An object is sent as JSON. */
  readonly body?: unknown;
  readonly key?: "caller" | "admin" | "slow" | "none";
  /** Requests with the same have the same idempotency key. */
  readonly repeats?: string;
  /** A parser that stands before answers itself. */
  readonly isUnreadable?: true;
  readonly status: number;
}

const EXECUTE = "/v1/execute";
const BATCH = "/v1/execute/batch";
const ADD = { id: "c1", name: "add", arguments: { a: 1, b: 2 } };
const JSON_HEAD = { "content-type": "application/json" };
const TOOL = { name: "more", description: "Adds more.", source: "export default ({ a }) => a + 1;" };
const MCP_HEAD = { ...JSON_HEAD, accept: "application/json, text/event-stream" };
const rpc = (method: string, params: object = {}) => ({ jsonrpc: "2.0", id: 1, method, params });
const INITIALIZE = rpc("initialize", {
  protocolVersion: "2025-06-18",
  capabilities: {},
  clientInfo: { name: "test", version: "1" },
});

const post = (says: string, path: string, body: unknown, status: number, more: Partial<Asked> = {}): Asked => ({
  says,
  method: "POST",
  path,
  body,
  status,
  ...more,
});
const get = (says: string, path: string, status: number, more: Partial<Asked> = {}): Asked => ({
  says,
  path,
  status,
  ...more,
});
/** A list in lists. */
const nested = (levels: number): string => `${"[".repeat(levels)}${"]".repeat(levels)}`;

export const REQUESTS: readonly Asked[] = [
  // Calls
  post("a call", EXECUTE, ADD, 200),
  post("a call with null for its options", EXECUTE, { ...ADD, options: null }, 200),
  post("a call with unknown options", EXECUTE, { ...ADD, options: { tenants: "a" } }, 400),
  post("a call of another tenant", EXECUTE, { ...ADD, options: { tenant: "b" } }, 403),
  post("a call of its own tenant", EXECUTE, { ...ADD, options: { tenant: "a" } }, 200),
  post("a call with the wrong arguments", EXECUTE, { ...ADD, arguments: { a: "1" } }, 400),
  post("a call without arguments", EXECUTE, { id: "c1", name: "add" }, 400),
  post("a call of an unknown tool", EXECUTE, { ...ADD, name: "nothing" }, 404),
  post("a call of a tool that the key has not", EXECUTE, { ...ADD, name: "secret" }, 404),
  post("a call that fails", EXECUTE, { id: "c1", name: "fail" }, 200),
  post("a call without a name", EXECUTE, { arguments: {} }, 400),
  post("a list in the place of a call", EXECUTE, [], 400),
  post("a call with a member __proto__", EXECUTE, '{"id":"c1","name":"echo","arguments":{"__proto__":{"a":1}}}', 200),
  post(
    "a call with a member twice",
    EXECUTE,
    '{"id":"c1","name":"nothing","name":"add","arguments":{"a":1,"b":2}}',
    200,
  ),
  post("a call in 100 KiB", EXECUTE, { id: "c1", name: "count", arguments: { text: "x".repeat(100_000) } }, 200),
  post("a call nested 1,001 levels deep", EXECUTE, `{"name":"echo","arguments":{"a":${nested(999)}}}`, 400),
  post("a call with emojis", EXECUTE, { id: "c1", name: "echo", arguments: { text: "😀 ü \u2028" } }, 200),
  post("a call with a long output", EXECUTE, { id: "c1", name: "repeat", arguments: { times: 300_000 } }, 200),
  post("a call with an idempotency key", EXECUTE, ADD, 200, { repeats: "one" }),
  post("the same call again", EXECUTE, ADD, 200, { repeats: "one" }),
  post("another call with the same key", EXECUTE, { ...ADD, arguments: { a: 2, b: 2 } }, 400, { repeats: "one" }),
  post("a call with an invalid key", EXECUTE, ADD, 400, { headers: { "idempotency-key": "a b" } }),
  post("a call as an event stream", EXECUTE, { id: "c1", name: "tell" }, 200, {
    headers: { accept: "text/event-stream" },
  }),
  post("a call as another type", EXECUTE, ADD, 406, { headers: { accept: "image/png" } }),
  post("a call that is not JSON", EXECUTE, '{"name":', 400, { isUnreadable: true }),
  post("a call of nothing", EXECUTE, undefined, 400),
  post("a call as plain text", EXECUTE, JSON.stringify(ADD), 400, { headers: { "content-type": "text/plain" } }),
  post("a call as a form", EXECUTE, "name=add", 400, {
    headers: { "content-type": "application/x-www-form-urlencoded" },
  }),
  post("a call with an encoding in its type", EXECUTE, JSON.stringify(ADD), 200, {
    headers: { "content-type": "application/json; charset=utf-8" },
  }),
  get("a GET of calls", EXECUTE, 405),
  { says: "a PUT of calls", method: "PUT", path: EXECUTE, body: ADD, status: 405 },
  { says: "OPTIONS of calls", method: "OPTIONS", path: EXECUTE, status: 405 },
  post("a call within its rate", EXECUTE, ADD, 200, { key: "slow" }),
  post("a call beyond its rate", EXECUTE, ADD, 429, { key: "slow" }),
  // Batches
  post("a batch", BATCH, { calls: [ADD, { ...ADD, id: "c2", name: "nothing" }] }, 200),
  post("a batch as lines", BATCH, { calls: [ADD] }, 200, { headers: { accept: "application/x-ndjson" } }),
  post("a batch as an event stream", BATCH, { calls: [ADD] }, 200, { headers: { accept: "text/event-stream" } }),
  post("a batch of nothing", BATCH, { calls: [] }, 400),
  // Who asks
  post("a call without a key", EXECUTE, ADD, 401, { key: "none" }),
  post("a call with a wrong key", EXECUTE, ADD, 401, { key: "none", headers: { authorization: "Bearer gb_no" } }),
  post("a call with a key for something else", EXECUTE, ADD, 403, { key: "admin" }),
  post("a call from a page of another site", EXECUTE, ADD, 403, { headers: { origin: "https://evil.example" } }),
  post("a call from another site without an origin", EXECUTE, ADD, 403, {
    headers: { "sec-fetch-site": "cross-site" },
  }),
  post("a call from a page that may", EXECUTE, ADD, 200, { headers: { origin: "https://app.example" } }),
  {
    says: "a preflight of a page that may",
    method: "OPTIONS",
    path: EXECUTE,
    headers: { origin: "https://app.example", "access-control-request-method": "POST" },
    status: 204,
  },
  // Tools
  get("the tools", "/v1/tools", 200),
  get("the tools by HEAD", "/v1/tools", 200, { method: "HEAD" }),
  get("a tool", "/v1/tools/add", 200),
  get("a tool that a query follows", "/v1/tools/add?x=1", 200),
  get("an unknown tool", "/v1/tools/nothing", 404),
  get("a tool with a long name", `/v1/tools/${"x".repeat(200)}`, 404),
  get("a tool whose name is encoded", "/v1/tools/%61dd", 200),
  get("an explanation", "/v1/tools/add/explanation", 200),
  get("an explanation for two tenants", "/v1/tools/add/explanation?tenant=a&tenant=b", 400),
  { says: "a new tool", method: "PUT", path: "/v1/tools/more", body: TOOL, key: "admin", status: 201 },
  { says: "a tool that is no tool", method: "PUT", path: "/v1/tools/more", body: {}, key: "admin", status: 400 },
  { says: "a tool's end", method: "DELETE", path: "/v1/tools/more", key: "admin", status: 204 },
  { says: "a POST to a tool", method: "POST", path: "/v1/tools/add", body: {}, status: 405 },
  // The rest
  get("liveness", "/healthz", 200, { key: "none" }),
  get("readiness", "/readyz", 200, { key: "none" }),
  get("the description", "/openapi.json", 200, { key: "none" }),
  get("metrics without the role", "/metrics", 403),
  post("the first message of MCP", "/mcp", INITIALIZE, 200, { headers: MCP_HEAD }),
  post("MCP without a session", "/mcp", rpc("tools/list"), 400, { headers: MCP_HEAD }),
  post("MCP that is no message", "/mcp", { a: 1 }, 400, { headers: MCP_HEAD }),
  post("MCP without a key", "/mcp", INITIALIZE, 401, { headers: MCP_HEAD, key: "none" }),
  get("MCP with an unknown session", "/mcp", 404, {
    headers: { accept: "text/event-stream", "mcp-session-id": "no" },
  }),
  { says: "a PUT of MCP", method: "PUT", path: "/mcp", body: {}, status: 405 },
];
