import "../kernel/base/check-node.ts";

export type { ConnectorFinding, ConnectorStatus, LoginStatus } from "../kernel/base/connector-report.ts";
export { checkConnectors, type ConnectorReport } from "./engine/check-connectors.ts";
export type {
  ConnectorOptions,
  ConnectorSettings,
  McpConnector,
  McpHttpServer,
  McpProcess,
  OpenApiConnector,
} from "./tool/options.ts";
export type { AuthorizationCodeClient, ClientAuthentication, ConnectorAuth, OAuthClient } from "./tool/auth-options.ts";
