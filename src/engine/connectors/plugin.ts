import { CONNECTOR } from "../../broker/capabilities/connector/methods.ts";
import type { Plugin } from "../plugin.ts";
import type { SourcePlugin } from "../sources.ts";
import { Connectors } from "./connectors.ts";
import { type ConnectorsSettings, resolveConnectorsOptions } from "./options.ts";

const EXTENSION = import.meta.url.endsWith(".ts") ? "ts" : "js";

const source: SourcePlugin<ConnectorsSettings> = {
  resolve: (options) => resolveConnectorsOptions(options),
  open: (host, settings) => new Connectors(host, settings),
};

/**
 * MCP servers and servers with an OpenAPI document: the options `connectors` and `logins` of an engine, their tools, and the
 * capability with which these call their servers.
 */
export const connectors: Plugin = {
  name: "connectors",
  runtimes: [{ name: "remote", engine: new URL(`../../guest/remote/engine.${EXTENSION}`, import.meta.url) }],
  modules: [CONNECTOR],
  sources: [source],
};
