import "../../base/check-node.ts";

export type { ConnectorFinding, ConnectorStatus, LoginStatus } from "../../base/connector-report.ts";
export { checkConnectors, type ConnectorReport } from "./check-connectors.ts";
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
