import { isObject } from "../../kernel/base/json.ts";
import { isPrivateHost } from "../../kernel/broker/capabilities/fetch/connections.ts";
import { isOfHost } from "../../kernel/broker/capabilities/fetch/headers.ts";
import type { NamedValue } from "../capability/route.ts";
import { placeholderOf } from "../../kernel/broker/capabilities/secrets/secrets.ts";
import type { ClientProof, LoginGrant, LoginSettings } from "../login/settings.ts";

/** How a client authenticates to an authorization server. */
export type ClientAuthentication = "basic" | "post" | "private_key_jwt" | "none";

/** A client of an authorization server, and the scope of its tokens. */
export interface OAuthClient {
  /** The authorization server, whose metadata names its endpoints. Either this or `tokenUrl`. */
  readonly issuer?: string;
  /** Its token endpoint, instead of its metadata. */
  readonly tokenUrl?: string;
  /** The client's id. Default, with an `issuer` and `authorizationCode`: a client is registered with the login. */
  readonly clientId?: string;
  /** The client's secret: `{secret:NAME}`, bound to the token endpoint's origin in `basic:password`, or in `body` for `post`. */
  readonly clientSecret?: string;
  /** The client's key for `private_key_jwt`: `{secret:NAME}`, a PEM in PKCS #8, bound to the token endpoint's origin in `body`. */
  readonly privateKey?: string;
  /** Id of the key, for the header `kid` of assertions. */
  readonly keyId?: string;
  /** Algorithm of the key. Default: RS256. */
  readonly algorithm?: string;
  /**
   * Authentication of the client. Default: `basic` with a secret, `private_key_jwt` with a key, `none` without both.
   */
  readonly clientAuth?: ClientAuthentication;
  /** Scopes, with spaces between them. */
  readonly scope?: string;
  /** The parameter `audience`, which some servers require. */
  readonly audience?: string;
  /** The resource that tokens are for (RFC 8707). Default: the URL of an MCP server, none for an API. */
  readonly resource?: string;
}

/** A login in a browser, once. */
export interface AuthorizationCodeClient extends OAuthClient {
  /** Its authorization endpoint, in place of that of the metadata. */
  readonly authorizationUrl?: string;
  /** Its endpoint of the device flow, in place of that of the metadata. */
  readonly deviceUrl?: string;
  /** Whether each tenant has its own login. Default: one login for all. */
  readonly perTenant?: boolean;
}

/** How a connector's requests are authenticated: one of these. */
export type ConnectorAuth =
  | { readonly basic: { readonly user: string; readonly password: string } }
  | { readonly bearer: { readonly token: string } }
  | { readonly apiKey: { readonly in: "header" | "query" | "cookie"; readonly name: string; readonly value: string } }
  | { readonly clientCredentials: OAuthClient }
  | { readonly refreshToken: OAuthClient & { readonly token: string } }
  | { readonly authorizationCode: AuthorizationCodeClient };

/** Parts that an `auth` adds to a connector. */
export interface ResolvedAuth {
  readonly headers: readonly NamedValue[];
  readonly query: readonly NamedValue[];
  readonly login: LoginSettings | null;
}

export const NO_AUTH: ResolvedAuth = { headers: [], query: [], login: null };

const KINDS = ["basic", "bearer", "apiKey", "clientCredentials", "refreshToken", "authorizationCode"] as const;
const PLACES = ["header", "query", "cookie"] as const;
const PROOFS: readonly ClientAuthentication[] = ["basic", "post", "private_key_jwt", "none"];
const ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "Ed25519"];
const CLIENT = [
  "issuer",
  "tokenUrl",
  "clientId",
  "clientSecret",
  "privateKey",
  "keyId",
  "algorithm",
  "clientAuth",
  "scope",
  "audience",
  "resource",
];
const SECRET = /^\{secret:([A-Za-z0-9_]{1,64})\}$/;
const HEADER = /^[!#$%&'+\-.^_`|~0-9A-Za-z]{1,256}$/;
const COOKIE = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,256}$/;
const TEXT_MAX = 2_048;

interface AuthContext {
  readonly connector: string;
  /** `connectors.crm.auth`. */
  readonly where: string;
  /** URL of an MCP server; `null` for an API. */
  readonly mcp: string | null;
  readonly isPrivate: boolean;
}

/** Reads `auth`. Throws a `TypeError` that names the option and its valid values. */
export function resolveAuth(given: unknown, context: AuthContext): ResolvedAuth {
  if (given === undefined) return NO_AUTH;
  const { where, mcp } = context;
  const [kind, ...more] = isObject(given) ? Object.keys(given) : [];
  const found = KINDS.find((each) => each === kind);
  if (!isObject(given) || found === undefined || more.length > 0) {
    throw new TypeError(`${where} must be an object with one of ${KINDS.join(", ")}`);
  }
  const at = `${where}.${found}`;
  const value = given[found];
  if (!isObject(value)) throw new TypeError(`${at} must be an object`);
  switch (found) {
    case "basic": {
      checkMembers(at, value, ["user", "password"]);
      const user = withSecret(`${at}.user`, value["user"]);
      if (user.includes(":")) throw new TypeError(`${at}.user must have no colon`);
      const halves = `${user}:${placeholderOf(secretOf(`${at}.password`, value["password"]))}`;
      return ofHeader("authorization", `Basic ${Buffer.from(halves).toString("base64")}`);
    }
    case "bearer":
      checkMembers(at, value, ["token"]);
      return ofHeader("authorization", `Bearer ${placeholderOf(secretOf(`${at}.token`, value["token"]))}`);
    case "apiKey":
      return resolveKey(at, value, mcp !== null);
    case "clientCredentials":
      checkMembers(at, value, CLIENT);
      return ofLogin(resolveClient(at, value, { kind: "clientCredentials" }, context));
    case "refreshToken": {
      checkMembers(at, value, [...CLIENT, "token"]);
      const token = secretOf(`${at}.token`, value["token"]);
      return ofLogin(resolveClient(at, value, { kind: "refreshToken", token }, context));
    }
    case "authorizationCode": {
      checkMembers(at, value, [...CLIENT, "authorizationUrl", "deviceUrl", "perTenant"]);
      const { perTenant = false } = value;
      if (typeof perTenant !== "boolean") throw new TypeError(`${at}.perTenant must be true or false`);
      return ofLogin(resolveClient(at, value, { kind: "authorizationCode", perTenant }, context));
    }
  }
}

function ofHeader(name: string, value: string): ResolvedAuth {
  return { headers: [[name, value]], query: [], login: null };
}

function ofLogin(login: LoginSettings): ResolvedAuth {
  return { headers: [], query: [], login };
}

function resolveKey(at: string, value: Readonly<Record<string, unknown>>, isMcp: boolean): ResolvedAuth {
  checkMembers(at, value, ["in", "name", "value"]);
  const place = PLACES.find((each) => each === value["in"]);
  if (place === undefined || (place === "query" && isMcp))
    throw new TypeError(`${at}.in must be ${isMcp ? "header or cookie" : "header, query or cookie"}`);
  const name = textOf(`${at}.name`, value["name"]);
  const key = placeholderOf(secretOf(`${at}.value`, value["value"]));
  if (place === "query") return { headers: [], query: [[name, key]], login: null };
  if (place === "cookie") {
    if (!COOKIE.test(name)) throw new TypeError(`${at}.name must be the name of a cookie`);
    return ofHeader("cookie", `${name}=${key}`);
  }
  if (!HEADER.test(name) || isOfHost(name.toLowerCase()))
    throw new TypeError(`${at}.name must be the name of a header that a client may set`);
  return ofHeader(name.toLowerCase(), key);
}

function resolveClient(
  at: string,
  value: Readonly<Record<string, unknown>>,
  grant: LoginGrant,
  { connector, mcp, isPrivate }: AuthContext,
): LoginSettings {
  const issuer = endpointOf(`${at}.issuer`, value["issuer"], isPrivate);
  const tokenUrl = endpointOf(`${at}.tokenUrl`, value["tokenUrl"], isPrivate);
  if (issuer === null && tokenUrl === null) throw new TypeError(`${at} must have an issuer or a tokenUrl`);
  const isCode = grant.kind === "authorizationCode";
  const authorizationUrl = endpointOf(`${at}.authorizationUrl`, value["authorizationUrl"], isPrivate);
  const deviceUrl = endpointOf(`${at}.deviceUrl`, value["deviceUrl"], isPrivate);
  if (isCode && tokenUrl !== null && authorizationUrl === null && deviceUrl === null)
    throw new TypeError(`${at} must have an authorizationUrl or a deviceUrl beside its tokenUrl`);
  const clientId = optionalText(`${at}.clientId`, value["clientId"]);
  if (clientId === null && (!isCode || issuer === null))
    throw new TypeError(`${at} must have a clientId${isCode ? ", or an issuer that registers clients" : ""}`);
  const resource = optionalText(`${at}.resource`, value["resource"]) ?? mcp;
  if (resource !== null && (URL.parse(resource) === null || resource.includes("#")))
    throw new TypeError(`${at}.resource must be a URL without a fragment`);
  return {
    connector,
    grant,
    issuer,
    tokenUrl,
    authorizationUrl,
    deviceUrl,
    clientId,
    proof: resolveProof(at, value, grant),
    scope: optionalText(`${at}.scope`, value["scope"]),
    audience: optionalText(`${at}.audience`, value["audience"]),
    resource,
    isPrivate,
  };
}

function resolveProof(at: string, value: Readonly<Record<string, unknown>>, grant: LoginGrant): ClientProof {
  const { clientSecret, privateKey, keyId, algorithm = "RS256" } = value;
  if (clientSecret !== undefined && privateKey !== undefined)
    throw new TypeError(`${at} must have either a clientSecret or a privateKey`);
  const fallback = clientSecret === undefined ? (privateKey === undefined ? "none" : "private_key_jwt") : "basic";
  const kind = value["clientAuth"] === undefined ? fallback : PROOFS.find((each) => each === value["clientAuth"]);
  if (kind === undefined) throw new TypeError(`${at}.clientAuth must be one of ${PROOFS.join(", ")}`);
  switch (kind) {
    case "none":
      if (clientSecret !== undefined || privateKey !== undefined)
        throw new TypeError(`${at}.clientAuth "none" goes without a clientSecret and a privateKey`);
      if (grant.kind === "clientCredentials") throw new TypeError(`${at} must have a clientSecret or a privateKey`);
      return { kind };
    case "basic":
    case "post":
      return { kind, secret: secretOf(`${at}.clientSecret`, clientSecret) };
    case "private_key_jwt":
      if (typeof algorithm !== "string" || !ALGORITHMS.includes(algorithm))
        throw new TypeError(`${at}.algorithm must be one of ${ALGORITHMS.join(", ")}`);
      return {
        kind,
        key: secretOf(`${at}.privateKey`, privateKey),
        keyId: optionalText(`${at}.keyId`, keyId),
        algorithm,
      };
    default:
      return kind satisfies never;
  }
}

/** A URL of an authorization server as the operator names it: over TLS, or on a private address that he names. */
function endpointOf(where: string, value: unknown, isPrivate: boolean): string | null {
  if (value === undefined) return null;
  const text = textOf(where, value);
  const url = URL.parse(text);
  const isSafe = url?.protocol === "https:" || (url?.protocol === "http:" && (isPrivate || isPrivateHost(url)));
  if (url === null || !isSafe || url.username !== "" || url.password !== "" || url.hash !== "")
    throw new TypeError(`${where} must be a URL that begins with https://; http:// is for private addresses`);
  return text;
}

/** The name in `{secret:NAME}`. */
function secretOf(where: string, value: unknown): string {
  const [, name] = typeof value === "string" ? (SECRET.exec(value) ?? []) : [];
  if (name !== undefined) return name;
  throw new TypeError(`${where} must be {secret:NAME}, with the name of a secret of the option secrets`);
}

function withSecret(where: string, value: unknown): string {
  const text = textOf(where, value);
  const [, name] = SECRET.exec(text) ?? [];
  return name === undefined ? text : placeholderOf(name);
}

function optionalText(where: string, value: unknown): string | null {
  return value === undefined ? null : textOf(where, value);
}

function textOf(where: string, value: unknown): string {
  if (typeof value === "string" && value !== "" && value.length <= TEXT_MAX && !/[\0\r\n]/.test(value)) return value;
  throw new TypeError(`${where} must be a text of 1 to ${TEXT_MAX} characters`);
}

/** Throws a `TypeError` for an option that is not known. `where`: the place of the options, such as `connectors.crm`. */
export function checkMembers(where: string, value: Readonly<Record<string, unknown>>, known: readonly string[]): void {
  const odd = Object.keys(value).find((key) => !known.includes(key));
  if (odd === undefined) return;
  throw new TypeError(`${where}.${odd.slice(0, 64)} is not an option; the options of ${where} are ${known.join(", ")}`);
}
