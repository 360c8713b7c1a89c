import { messageOf } from "../../broker/method-call.ts";
import { resolveConnectors, type ResolvedConnector } from "../../tool/connectors/options.ts";
import type { ConnectorFinding } from "../../tool/connectors/remote-tool.ts";
import { type EngineOptions, resolveLogins, STATE_DIR } from "../options.ts";
import { Sources } from "./connector-source.ts";

/** Time for a server to answer that may have to be downloaded and started first. */
const LIST_MS = 60_000;

/** A connector as its document or its server describes it. */
export interface ConnectorReport {
  readonly name: string;
  readonly kind: "openapi" | "mcp";
  /** URL of its server; `null` for a process, and where the document could not be read. */
  readonly server: string | null;
  /** Why it could not be read; `null` if it was. */
  readonly problem: string | null;
  readonly tools: readonly { readonly name: string; readonly description: string }[];
  /** Digest of the tools, for the option `pin`; `null` where they could not be read. */
  readonly digest: string | null;
  readonly pin: string | null;
  /** Operations that are not tools, with the reasons. */
  readonly findings: readonly ConnectorFinding[];
}

/** The engine's options on which connectors depend. */
type CheckOptions = Pick<EngineOptions, "connectors" | "secrets" | "fetch" | "logins" | "stateDir">;

/**
 * Reads the documents and asks the servers of connectors, without an engine. Throws a `TypeError` or a `RangeError` where
 * an option is invalid.
 */
export async function checkConnectors({
  connectors,
  secrets = {},
  fetch = {},
  logins = {},
  stateDir = STATE_DIR,
}: CheckOptions): Promise<readonly ConnectorReport[]> {
  const sources = new Sources({ secrets, fetch, logins: resolveLogins(logins, stateDir) });
  return Promise.all(resolveConnectors(connectors).map((connector) => check(connector, sources)));
}

async function check(connector: ResolvedConnector, sources: Sources): Promise<ConnectorReport> {
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
  } as const;
  try {
    await using source = sources.open(connector, { onChange: () => undefined, onLogin: () => undefined });
    const { tools, server, digest, findings } = await source.read(LIST_MS);
    const listed = tools.map(({ tool }) => ({ name: tool.name, description: tool.description }));
    return { ...known, server: server ?? known.server, tools: listed, digest, findings };
  } catch (error) {
    return { ...known, problem: messageOf(error) };
  }
}
