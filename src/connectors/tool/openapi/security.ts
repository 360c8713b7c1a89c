import { isObject } from "../../../kernel/base/json.ts";
import type { Json, OpenApiDocument } from "./document.ts";

/** The `auth` for a document's security scheme, to be written into the options. */
export interface SuggestedAuth {
  /** Name of the scheme. */
  readonly scheme: string;
  /** As the option is written, with names of secrets and a client that the operator replaces. */
  readonly auth: { readonly [kind: string]: { readonly [option: string]: string } };
}

const SCHEMES_MAX = 16;
const NAME_MAX = 100;
const TEXT_MAX = 1_000;
const SCOPES_MAX = 32;
const SECRET = "{secret:NAME}";
const CLIENT = { clientId: "CLIENT_ID", clientSecret: SECRET };
const OPENID = "/.well-known/openid-configuration";

/** The `auth`s for the document's security schemes. URLs of a server are used if they are absolute. */
export function readSecurity(document: OpenApiDocument): readonly SuggestedAuth[] {
  const { components, securityDefinitions } = document.root;
  const given = isObject(components) ? components["securitySchemes"] : securityDefinitions;
  if (!isObject(given)) return [];
  return Object.entries(given)
    .slice(0, SCHEMES_MAX)
    .flatMap(([scheme, value]) => {
      const found = isObject(value) ? authsOf(follow(document, value)) : [];
      return found.map((auth) => ({ scheme: scheme.slice(0, NAME_MAX), auth }));
    });
}

function follow(document: OpenApiDocument, value: Json): Json {
  try {
    return document.follow(value);
  } catch {
    return {};
  }
}

function authsOf(scheme: Json): readonly SuggestedAuth["auth"][] {
  const { type, in: place, name } = scheme;
  switch (type) {
    case "http":
      return ofHttp(scheme["scheme"]);
    case "basic":
      return ofHttp("basic");
    case "apiKey":
      if (!isText(name) || (place !== "header" && place !== "query" && place !== "cookie")) return [];
      return [{ apiKey: { in: place, name, value: SECRET } }];
    case "oauth2":
      return isObject(scheme["flows"]) ? ofFlows(scheme["flows"]) : ofFlow(SWAGGER_FLOWS, scheme["flow"], scheme);
    case "openIdConnect": {
      const url = urlOf(scheme["openIdConnectUrl"]);
      if (url === null || !url.endsWith(OPENID)) return [];
      return [{ authorizationCode: { issuer: url.slice(0, -OPENID.length), ...CLIENT } }];
    }
    default:
      return [];
  }
}

function ofHttp(scheme: unknown): readonly SuggestedAuth["auth"][] {
  const name = typeof scheme === "string" ? scheme.toLowerCase() : "";
  if (name === "basic") return [{ basic: { user: "USER", password: SECRET } }];
  return name === "bearer" ? [{ bearer: { token: SECRET } }] : [];
}

const FLOWS = new Map([
  ["clientCredentials", "clientCredentials"],
  ["authorizationCode", "authorizationCode"],
  ["deviceAuthorization", "authorizationCode"],
]);
/** Names of flows in Swagger 2.0. */
const SWAGGER_FLOWS = new Map([
  ["application", "clientCredentials"],
  ["accessCode", "authorizationCode"],
]);

function ofFlows(flows: Json): readonly SuggestedAuth["auth"][] {
  return Object.entries(flows).flatMap(([name, flow]) => (isObject(flow) ? ofFlow(FLOWS, name, flow) : []));
}

function ofFlow(names: ReadonlyMap<string, string>, name: unknown, flow: Json): readonly SuggestedAuth["auth"][] {
  const kind = typeof name === "string" ? names.get(name) : undefined;
  const tokenUrl = urlOf(flow["tokenUrl"]);
  if (kind === undefined || tokenUrl === null) return [];
  const authorizationUrl = kind === "authorizationCode" ? urlOf(flow["authorizationUrl"]) : null;
  const deviceUrl = kind === "authorizationCode" ? urlOf(flow["deviceAuthorizationUrl"]) : null;
  const scopes = isObject(flow["scopes"]) ? Object.keys(flow["scopes"]).slice(0, SCOPES_MAX) : [];
  const auth = {
    tokenUrl,
    ...(authorizationUrl === null ? {} : { authorizationUrl }),
    ...(deviceUrl === null ? {} : { deviceUrl }),
    ...CLIENT,
    ...(scopes.length === 0 ? {} : { scope: scopes.join(" ").slice(0, TEXT_MAX) }),
  };
  return [{ [kind]: auth }];
}

function urlOf(value: unknown): string | null {
  return isText(value) && /^https?:$/.test(URL.parse(value)?.protocol ?? "") ? value : null;
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "" && value.length <= TEXT_MAX;
}
