import "../../kernel/base/check-node.ts";

export { type FetchHandler, toFetchHandler } from "./fetch.ts";
export { type McpHandler, toMcpHandler } from "./mcp.ts";
export { type NodeHandler, toNodeHandler } from "./node.ts";
export type { Caller, HandlerOptions, Mounted } from "./options.ts";
export type { RouteGroup } from "../http/route-groups.ts";
export type { KeyOptions } from "../access/key-options.ts";
