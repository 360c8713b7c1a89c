import { CONNECTOR } from "./capability/methods.ts";
import type { Plugin } from "../kernel/engine/plugin.ts";
import type { SourcePlugin } from "../kernel/engine/sources.ts";
import { Connectors } from "./engine/connectors.ts";
import { type ConnectorsSettings, resolveConnectorsOptions } from "./engine/options.ts";

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
  runtimes: [{ name: "remote", engine: new URL(`./guest/engine.${EXTENSION}`, import.meta.url) }],
  modules: [CONNECTOR],
  sources: [source],
};
