import { textOfFile, textOfVariable } from "../../kernel/base/os/secret-source.ts";
import { compileSchema, type Validator } from "../../kernel/base/schema/schema.ts";
import { describeViolations, unseen } from "../../kernel/base/schema/violation.ts";
import { ROLES, type Role } from "./caller.ts";
import { GRANT, type KeyGrant } from "./key-options.ts";

/** Signature algorithms of tokens: those of key pairs only, as a shared secret would let its holder make tokens. */
export const ALGORITHMS = [
  "RS256",
  "RS384",
  "RS512",
  "PS256",
  "PS384",
  "PS512",
  "ES256",
  "ES384",
  "ES512",
  "EdDSA",
  "Ed25519",
] as const;

/** The endpoint that checks tokens which are not verified here (RFC 7662), with its credentials. */
export interface IntrospectionOptions {
  readonly url: string;
  readonly clientId: string;
  /** The variable or the file that has the client's secret. */
  readonly clientSecret: { readonly env: string } | { readonly file: string };
}

/** An authorization server whose tokens the server accepts besides its keys. */
export interface OAuthOptions extends Pick<KeyGrant, "tools" | "limits" | "quota" | "rate"> {
  /** The authorization server, as its tokens name it in `iss`. */
  readonly issuer: string;
  /** URL of its public keys (JWKS), if its tokens are JWTs. One of this and `introspection`. */
  readonly jwksUri?: string;
  /** Token introspection, instead. */
  readonly introspection?: IntrospectionOptions;
  /** Audiences of tokens for this server. Default: `publicUrl`, and `publicUrl` with `/mcp`. */
  readonly audience?: readonly string[];
  /** Signature algorithms of tokens. Default: all with key pairs. */
  readonly algorithms?: readonly (typeof ALGORITHMS)[number][];
  /** Roles by the scope that gives them. A token without such a scope has no permission. */
  readonly scopes: { readonly [scope: string]: readonly Role[] };
  /** Tenant of all callers. One of this and `tenantClaim`. */
  readonly tenant?: string;
  /** The claim that names a caller's tenant: a token without it is refused. */
  readonly tenantClaim?: string;
}

/** Options that have been checked. */
export interface OAuthSettings extends OAuthOptions {
  readonly audience: readonly string[];
  readonly algorithms: readonly (typeof ALGORITHMS)[number][];
  /** Public address of the server, without a slash at its end. */
  readonly resource: string;
  /** `null` if tokens are verified by keys. */
  readonly clientSecret: string | null;
}

const TEXT = { type: "string", minLength: 1, maxLength: 2_048 };
const SCOPES_MAX = 100;

/** JSON Schema of the options. */
export const OAUTH_SCHEMA = {
  type: "object",
  properties: {
    issuer: TEXT,
    jwksUri: TEXT,
    introspection: {
      type: "object",
      properties: {
        url: TEXT,
        clientId: TEXT,
        clientSecret: {
          type: "object",
          properties: { env: TEXT, file: TEXT },
          oneOf: [{ required: ["env"] }, { required: ["file"] }],
          additionalProperties: false,
        },
      },
      required: ["url", "clientId", "clientSecret"],
      additionalProperties: false,
    },
    audience: { type: "array", items: TEXT, minItems: 1, maxItems: SCOPES_MAX },
    algorithms: { type: "array", items: { enum: ALGORITHMS }, minItems: 1, uniqueItems: true },
    scopes: {
      type: "object",
      minProperties: 1,
      maxProperties: SCOPES_MAX,
      // The characters that RFC 6749 allows in a scope.
      propertyNames: { pattern: "^[!#-\\[\\]-~]{1,256}$" },
      additionalProperties: { type: "array", items: { enum: ROLES }, minItems: 1, uniqueItems: true },
    },
    tenant: { type: "string", maxLength: 256 },
    tenantClaim: TEXT,
    ...GRANT,
  },
  required: ["issuer", "scopes"],
  allOf: [
    { oneOf: [{ required: ["jwksUri"] }, { required: ["introspection"] }] },
    { oneOf: [{ required: ["tenant"] }, { required: ["tenantClaim"] }] },
  ],
  additionalProperties: false,
};

let compiled: Validator | undefined;

/** Checks the options of a server. Throws a `TypeError` that describes the mistake. */
export function readOAuth(
  options: OAuthOptions,
  publicUrl: string | undefined,
  environment: NodeJS.ProcessEnv = process.env,
): OAuthSettings {
  compiled ??= compileSchema({ properties: { oauth: OAUTH_SCHEMA } }, "inputSchema");
  const violations = compiled.check({ oauth: options });
  if (violations.length > 0) throw new TypeError(describeViolations(violations.map(unseen)));
  if (publicUrl === undefined) {
    throw new TypeError("oauth needs publicUrl: tokens name the server that they are for by its public address");
  }
  const resource = publicUrl.replace(/\/+$/, "");
  const { jwksUri, introspection, algorithms = ALGORITHMS, audience } = structuredClone(options);
  requireHttps("issuer", options.issuer);
  if (jwksUri !== undefined) requireHttps("jwksUri", jwksUri);
  if (introspection !== undefined) requireHttps("introspection/url", introspection.url);
  return {
    ...structuredClone(options),
    algorithms,
    audience: audience ?? [resource, `${resource}/`, `${resource}/mcp`],
    resource,
    clientSecret: introspection === undefined ? null : readSecret(introspection.clientSecret, environment),
  };
}

/** Others could read and change plain text on its way. */
function requireHttps(name: string, text: string): void {
  const url = URL.parse(text);
  const isLocal = url !== null && /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(url.hostname);
  if (url?.protocol === "https:" || (url?.protocol === "http:" && isLocal)) return;
  throw new TypeError(`/oauth/${name} is not an address that begins with https://`);
}

function readSecret(source: IntrospectionOptions["clientSecret"], environment: NodeJS.ProcessEnv): string {
  const where = "/oauth/introspection/clientSecret";
  return "env" in source
    ? textOfVariable(`${where}/env`, source.env, environment)
    : textOfFile(`${where}/file`, source.file);
}
