import type { ConnectorFinding } from "../../kernel/base/connector-report.ts";
import { messageOf } from "../../kernel/broker/method-call.ts";
import type { ResolvedConnector } from "../tool/options.ts";
import { type ConnectorsOptions, resolveConnectorsOptions } from "./options.ts";
import { Connections, type FetchOptions } from "../../kernel/broker/capabilities/fetch/connections.ts";
import type { SuggestedAuth } from "../tool/openapi/security.ts";
import { Sources } from "./connector-source.ts";

/** Time for a server to answer that may have to be downloaded and started first. */
const LIST_MS = 60_000;

/** A connector as its document or its server describes it. */
export interface ConnectorReport {
  readonly name: string;
  readonly kind: "openapi" | "mcp";
  /** URL of its server; `null` for a process, and if the document could not be read. */
  readonly server: string | null;
  /** The reason why it could not be read; `null` if it was. */
  readonly problem: string | null;
  readonly tools: readonly { readonly name: string; readonly description: string }[];
  /** Digest of the tools, for the option `pin`; `null` if they could not be read. */
  readonly digest: string | null;
  readonly pin: string | null;
  /** Operations that are not tools, with the reasons. */
  readonly findings: readonly ConnectorFinding[];
  /** Possible values of `auth` for the connector, if it has none. */
  readonly auths: readonly SuggestedAuth[];
}

/**
 * Reads the documents and lists of the connectors' servers, without an engine. Throws a `TypeError` or a `RangeError`
 * if an option is invalid.
 */
export async function checkConnectors(options: ConnectorsOptions): Promise<readonly ConnectorReport[]> {
  const settings = resolveConnectorsOptions(options);
  const sources = new Sources(settings);
  return Promise.all(settings.connectors.map((connector) => check(connector, sources, settings.fetch)));
}

async function check(connector: ResolvedConnector, sources: Sources, fetch: FetchOptions): Promise<ConnectorReport> {
  const { name, source: given, pin } = connector;
  const known = {
    name,
    kind: given.kind === "openapi" ? "openapi" : "mcp",
    server: given.kind === "http" ? given.url : null,
    problem: null,
    tools: [],
    digest: null,
    pin,
    findings: [],
    auths: [],
  } as const;
  try {
    await using source = sources.open(connector, { onChange: () => undefined, onLogin: () => undefined });
    const { tools, server, digest, findings, auths } = await source.read(LIST_MS);
    const listed = tools.map(({ tool }) => ({ name: tool.name, description: tool.description }));
    const written = hasAuth(connector) ? [] : auths;
    return { ...known, server: server ?? known.server, tools: listed, digest, findings, auths: written };
  } catch (error) {
    const isUnknown = given.kind === "http" && !hasAuth(connector);
    const auths = isUnknown ? await suggest(given.url, connector.isPrivate, fetch).catch(() => []) : [];
    return { ...known, problem: messageOf(error), auths };
  }
}

/** Whether its options define the authentication of its requests. */
function hasAuth({ login, source }: ResolvedConnector): boolean {
  return login !== null || (source.kind !== "process" && source.headers.some(([name]) => name === "authorization"));
}

/** The `auth` for an MCP server, by the metadata to which its refusal refers. */
async function suggest(server: string, isPrivate: boolean, fetch: FetchOptions): Promise<readonly SuggestedAuth[]> {
  const { findLogin } = await import("../login/protected-resource.ts");
  const connections = new Connections(fetch);
  try {
    const found = await findLogin(server, isPrivate, connections);
    if (found === null) return [];
    const { issuer, resource, scopes, registers } = found;
    const authorizationCode = {
      issuer,
      ...(registers ? {} : { clientId: "CLIENT_ID" }),
      ...(scopes.length === 0 ? {} : { scope: scopes.join(" ") }),
      ...(resource === server ? {} : { resource }),
    };
    return [{ scheme: "protected resource", auth: { authorizationCode } }];
  } finally {
    await connections.close();
  }
}
