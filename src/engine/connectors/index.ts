import "../../base/check-node.ts";

export { checkConnectors, type ConnectorReport } from "./check-connectors.ts";
export type { ConnectorStatus, LoginStatus } from "./running-connector.ts";
export type {
  ConnectorOptions,
  ConnectorSettings,
  McpConnector,
  McpHttpServer,
  McpProcess,
  OpenApiConnector,
} from "../../tool/connectors/options.ts";
export type {
  AuthorizationCodeClient,
  ClientAuthentication,
  ConnectorAuth,
  OAuthClient,
} from "../../tool/connectors/auth-options.ts";
export type { ConnectorFinding } from "../../tool/connectors/remote-tool.ts";
