import { isObject } from "../../kernel/base/json.ts";
import { type Connections, isPrivateHost } from "../../kernel/broker/capabilities/fetch/connections.ts";
import { AuthorizationServer } from "./authorization-server.ts";
import type { LoginSettings } from "./settings.ts";
import { TokenFetch } from "./token-fetch.ts";

/** Login of a protected resource, by its metadata (RFC 9728) and those of its authorization server (RFC 8414). */
export interface FoundLogin {
  readonly issuer: string;
  readonly resource: string;
  readonly scopes: readonly string[];
  /** Whether a client is registered with the login (RFC 7591). */
  readonly registers: boolean;
  readonly hasDeviceFlow: boolean;
}

const METADATA = /\bresource_metadata="([^"]{1,2000})"/i;
const WELL_KNOWN = "/.well-known/oauth-protected-resource";
const SCOPES_MAX = 32;
const SCOPE = /^[!#-[\]-~]{1,256}$/;

/**
 * Sends a server a request without a token, and reads the metadata to which its refusal refers. `null` if it does not
 * refuse, or has none. Addresses in the metadata must be public, except those on the server's own origin.
 */
export async function findLogin(
  server: string,
  isPrivate: boolean,
  connections: Connections,
): Promise<FoundLogin | null> {
  const nobody = settingsOf("", isPrivate);
  const fetch = new TokenFetch(nobody, connections, [server]);
  const named = await challengeOf(server, fetch);
  if (named === null) return null;
  const { origin, pathname } = new URL(server);
  const path = pathname.replace(/\/$/, "");
  const places = new Set(
    [named, `${origin}${WELL_KNOWN}${path}`, `${origin}${WELL_KNOWN}`].filter((url) => url !== ""),
  );
  for (const place of places) {
    const metadata = await readJson(place, fetch);
    const { resource, authorization_servers: servers, scopes_supported: scopes } = metadata ?? {};
    const issuer: unknown = Array.isArray(servers) ? servers[0] : undefined;
    // Metadata of another resource would have its tokens sent here.
    const isOwn = typeof resource === "string" && URL.parse(resource)?.origin === origin;
    if (!isOwn || typeof issuer !== "string" || URL.parse(issuer) === null) continue;
    const isHere = isPrivateHost(new URL(server)) && new URL(issuer).hostname === new URL(server).hostname;
    const settings = settingsOf(issuer, isPrivate);
    // An issuer on a private address counts as named by the operator only if the operator's URL has that address.
    if (isPrivateHost(new URL(issuer)) && !isHere && !isPrivate) return null;
    const as = await new AuthorizationServer(settings, connections, { find: () => undefined }).metadata();
    return {
      issuer,
      resource,
      scopes: (Array.isArray(scopes) ? scopes : [])
        .filter((each): each is string => typeof each === "string" && SCOPE.test(each))
        .slice(0, SCOPES_MAX),
      registers: as.registration_endpoint !== undefined,
      hasDeviceFlow: as.device_authorization_endpoint !== undefined,
    };
  }
  return null;
}

/** URL of the metadata in the server's refusal; empty if it names none, `null` if it does not refuse. */
async function challengeOf(server: string, fetch: TokenFetch): Promise<string | null> {
  const { status, headers } = await fetch.send(server, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" }),
  });
  if (status !== 401) return null;
  return METADATA.exec(headers.get("www-authenticate") ?? "")?.[1] ?? "";
}

async function readJson(url: string, fetch: TokenFetch): Promise<Readonly<Record<string, unknown>> | null> {
  try {
    const answer = await fetch.send(url, { method: "GET", headers: { accept: "application/json" } });
    const value: unknown = answer.status === 200 ? await answer.json() : null;
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

function settingsOf(issuer: string, isPrivate: boolean): LoginSettings {
  return {
    connector: "",
    grant: { kind: "authorizationCode", perTenant: false },
    issuer,
    tokenUrl: null,
    authorizationUrl: null,
    deviceUrl: null,
    clientId: null,
    proof: { kind: "none" },
    scope: null,
    audience: null,
    resource: null,
    isPrivate,
  };
}
