import { errnoOf } from "../../kernel/base/errno.ts";
import { createPrivateKey, type webcrypto } from "node:crypto";
import type * as OAuth from "oauth4webapi";
import type { Connections } from "../../kernel/broker/capabilities/fetch/connections.ts";
import type { Secrets } from "../../kernel/broker/capabilities/secrets/secrets.ts";
import { LoginFailure, refusalOf } from "./failure.ts";
import type { ClientProof, LoginSettings } from "./settings.ts";
import { TokenFetch } from "./token-fetch.ts";

/** Metadata is read again after this time. */
const METADATA_MS = 3_600_000;
const TOKEN_MIN = 8;
const TOKEN_MAX = 8_192;
/** Longest life that is believed. */
const LIFE_MAX_S = 366 * 24 * 3_600;
const VISIBLE = /^[\x21-\x7e]+$/;

/** A client in its registration at an authorization server. */
export interface KnownClient {
  readonly clientId: string;
  /** Secret of a client that was registered with the login. */
  readonly clientSecret: string | null;
}

/** A token endpoint's answer. */
export interface TokenAnswer {
  readonly accessToken: string;
  readonly refreshToken: string | null;
  /** Life of the access token from the time of the request on; `null` if the server does not report it. */
  readonly lifeMs: number | null;
  readonly scope: string | null;
}

/** Common parts of the requests of one grant. */
export interface GrantRequest {
  readonly as: OAuth.AuthorizationServer;
  readonly client: OAuth.Client;
  readonly proof: OAuth.ClientAuth;
  readonly options: OAuth.TokenEndpointRequestOptions;
}

/** Options of all requests of the library. */
interface RequestOptions {
  readonly [OAuth.customFetch]: TokenFetch["send"];
  readonly [OAuth.allowInsecureRequests]: boolean;
}

/** Loaded when a connector has a login. */
export function loadOAuth(): Promise<typeof OAuth> {
  return import("oauth4webapi");
}

/** An authorization server: its metadata, the client's proof, and its answers as data or as a `LoginFailure`. */
export class AuthorizationServer {
  readonly settings: LoginSettings;
  readonly fetch: TokenFetch;
  readonly #secrets: Pick<Secrets, "find">;
  #metadata: { readonly as: OAuth.AuthorizationServer; readonly untilMs: number } | null = null;

  constructor(settings: LoginSettings, connections: Connections, secrets: Pick<Secrets, "find">) {
    this.settings = settings;
    this.#secrets = secrets;
    this.fetch = new TokenFetch(settings, connections);
  }

  /** Its metadata, or the endpoints that the operator names. */
  async metadata(): Promise<OAuth.AuthorizationServer> {
    const nowMs = performance.now();
    if (this.#metadata !== null && nowMs < this.#metadata.untilMs) return this.#metadata.as;
    const { issuer, tokenUrl, authorizationUrl, deviceUrl } = this.settings;
    const own = {
      ...(tokenUrl === null ? {} : { token_endpoint: tokenUrl }),
      ...(authorizationUrl === null ? {} : { authorization_endpoint: authorizationUrl }),
      ...(deviceUrl === null ? {} : { device_authorization_endpoint: deviceUrl }),
    };
    const as =
      issuer === null || tokenUrl !== null
        ? { issuer: issuer ?? tokenUrl ?? "", ...own }
        : { ...(await this.#discover(new URL(issuer))), ...own };
    this.#metadata = { as, untilMs: nowMs + METADATA_MS };
    return as;
  }

  /** URL of the token endpoint, to which tokens and secrets are sent. */
  async tokenEndpoint(): Promise<URL> {
    const { token_endpoint: endpoint } = await this.metadata();
    if (endpoint === undefined) throw new LoginFailure("failed", "the authorization server names no token endpoint");
    return this.fetch.admit(endpoint);
  }

  /** Calls the token endpoint. */
  async grant(
    known: KnownClient,
    ask: (oauth: typeof OAuth, request: GrantRequest) => Promise<OAuth.TokenEndpointResponse>,
  ): Promise<TokenAnswer> {
    return answerOf(await this.#asClient(known, ask));
  }

  /**
   * Revokes a token (RFC 7009), which goes to the origin that gave it only. Returns `false` if the server revokes no
   * tokens of this kind. Rejects with a `LoginFailure`.
   */
  async revoke(known: KnownClient, token: string, origin: string): Promise<boolean> {
    const { revocation_endpoint: endpoint } = await this.metadata();
    if (endpoint === undefined) return false;
    if (this.fetch.admit(endpoint).origin !== origin)
      throw new LoginFailure("refused", "its revocation endpoint has another origin than its token endpoint");
    return this.#asClient(known, async (oauth, { as, client, proof, options }) => {
      const { additionalParameters: _ofGrants, ...rest } = options;
      try {
        await oauth.processRevocationResponse(await oauth.revocationRequest(as, client, proof, token, rest));
        return true;
      } catch (error) {
        if (error instanceof oauth.ResponseBodyError && error.error === "unsupported_token_type") return false;
        throw error;
      }
    });
  }

  /** `ask` may be called twice: after the first answer has shown the error of the clock. */
  async #asClient<Answer>(
    known: KnownClient,
    ask: (oauth: typeof OAuth, request: GrantRequest) => Promise<Answer>,
  ): Promise<Answer> {
    const oauth = await loadOAuth();
    const once = async (): Promise<Answer> => {
      const request = await this.requestOf(oauth, known);
      return ask(oauth, request).catch((error: unknown) => Promise.reject(failureOf(oauth, error)));
    };
    const { skewS } = this.fetch;
    try {
      return await once();
    } catch (error) {
      const isSigned = this.settings.proof.kind === "private_key_jwt";
      if (!isSigned || this.fetch.skewS === skewS || !(error instanceof LoginFailure && error.kind === "refused"))
        throw error;
      return once();
    }
  }

  async requestOf(oauth: typeof OAuth, { clientId, clientSecret }: KnownClient): Promise<GrantRequest> {
    const { resource, audience } = this.settings;
    const endpoint = await this.tokenEndpoint();
    const proof =
      clientSecret === null
        ? await this.#proofOf(oauth, this.settings.proof, endpoint)
        : oauth.ClientSecretBasic(clientSecret);
    return {
      as: await this.metadata(),
      client: { client_id: clientId, [oauth.clockSkew]: this.fetch.skewS },
      proof,
      options: {
        ...this.httpOptions(oauth),
        additionalParameters: {
          ...(resource === null ? {} : { resource }),
          ...(audience === null ? {} : { audience }),
        },
      },
    };
  }

  /** All of its requests are admitted by `fetch`, which has the operator's addresses. */
  httpOptions(oauth: typeof OAuth): RequestOptions {
    return { [oauth.customFetch]: this.fetch.send, [oauth.allowInsecureRequests]: true };
  }

  /** The value of a secret, which has to be bound to the endpoint. */
  secretFor(name: string, endpoint: URL, place: "basic:password" | "body"): string {
    const secret = this.#secrets.find(name);
    if (secret === undefined) throw new LoginFailure("refused", `the engine has no secret "${name}"`);
    const isBound = secret.bindings.some(
      (binding) => binding.missing({ method: "POST", url: endpoint }, place) === null,
    );
    if (isBound) return secret.value;
    const remedy = `add { origin: "${endpoint.origin}", in: "${place}" } to secrets.${name}.bind if you trust it`;
    throw new LoginFailure("refused", `the secret "${name}" is not bound to the token endpoint; ${remedy}`);
  }

  async #proofOf(oauth: typeof OAuth, proof: ClientProof, endpoint: URL): Promise<OAuth.ClientAuth> {
    switch (proof.kind) {
      case "none":
        return oauth.None();
      case "basic":
        return oauth.ClientSecretBasic(this.secretFor(proof.secret, endpoint, "basic:password"));
      case "post":
        return oauth.ClientSecretPost(this.secretFor(proof.secret, endpoint, "body"));
      case "private_key_jwt": {
        const key = await importKey(proof, this.secretFor(proof.key, endpoint, "body"));
        return oauth.PrivateKeyJwt(proof.keyId === null ? key : { key, kid: proof.keyId });
      }
      default:
        return proof satisfies never;
    }
  }

  /** Reads the metadata of RFC 8414, and else of OpenID Connect. They have to name the requested issuer. */
  async #discover(issuer: URL): Promise<OAuth.AuthorizationServer> {
    const oauth = await loadOAuth();
    let failure: LoginFailure | null = null;
    for (const algorithm of ["oauth2", "oidc"] as const) {
      try {
        const options = { ...this.httpOptions(oauth), algorithm };
        const found = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, options));
        return onlyKnown(found);
      } catch (error) {
        const found = failureOf(oauth, error);
        const { code } = error instanceof Error && "code" in error ? error : {};
        if (code === oauth.JSON_ATTRIBUTE_COMPARISON)
          throw new LoginFailure("failed", "the metadata of the authorization server names another issuer");
        failure ??= found;
      }
    }
    throw new LoginFailure("failed", `the metadata of ${issuer.origin} cannot be read: ${failure?.message ?? ""}`);
  }
}

/** The members that are used: a server's metadata may be large. */
function onlyKnown(found: OAuth.AuthorizationServer): OAuth.AuthorizationServer {
  const names = [
    "token_endpoint",
    "authorization_endpoint",
    "device_authorization_endpoint",
    "registration_endpoint",
    "revocation_endpoint",
    "authorization_response_iss_parameter_supported",
  ] as const;
  return {
    issuer: found.issuer,
    ...Object.fromEntries(names.flatMap((name) => (name in found ? [[name, found[name]]] : []))),
  };
}

/** A failure of the library in our own words. */
export function failureOf(oauth: typeof OAuth, error: unknown): LoginFailure {
  if (error instanceof LoginFailure) return error;
  if (error instanceof oauth.ResponseBodyError) return refusalOf(error.error, error.status >= 500);
  if (error instanceof oauth.AuthorizationResponseError) return refusalOf(error.error);
  if (error instanceof oauth.WWWAuthenticateChallengeError) return refusalOf("invalid_client", error.status >= 500);
  const code = errnoOf(error) ?? "";
  if (code === oauth.INVALID_RESPONSE && error instanceof Error && error.message.includes('"iss"'))
    return new LoginFailure(
      "refused",
      "the answer comes from another authorization server than was asked; if it is the right one, write its issuer into the connector's auth",
    );
  return new LoginFailure("failed", "the authorization server's answer is not one of OAuth");
}

function answerOf(answer: OAuth.TokenEndpointResponse): TokenAnswer {
  const { access_token: accessToken, refresh_token: refreshToken, expires_in: lifeS, scope } = answer;
  if (answer.token_type !== "bearer")
    throw new LoginFailure("failed", "the authorization server's token has another type than Bearer");
  for (const token of [accessToken, refreshToken ?? accessToken]) {
    if (token.length < TOKEN_MIN || token.length > TOKEN_MAX || !VISIBLE.test(token))
      throw new LoginFailure("failed", `a token is not ${TOKEN_MIN} to ${TOKEN_MAX} visible characters of ASCII`);
  }
  return {
    accessToken,
    refreshToken: refreshToken ?? null,
    lifeMs: lifeS === undefined ? null : Math.min(lifeS, LIFE_MAX_S) * 1_000,
    scope: scope ?? null,
  };
}

/** The parameters of Web Crypto for the algorithms of the options. */
async function importKey(
  { algorithm }: Extract<ClientProof, { readonly kind: "private_key_jwt" }>,
  pem: string,
): Promise<webcrypto.CryptoKey> {
  const bits = algorithm.slice(2);
  const ofRsa = { name: algorithm.startsWith("PS") ? "RSA-PSS" : "RSASSA-PKCS1-v1_5", hash: `SHA-${bits}` };
  const curve = { "256": "P-256", "384": "P-384", "512": "P-521" }[bits] ?? "";
  const ofCurve = algorithm === "Ed25519" ? { name: "Ed25519" } : { name: "ECDSA", namedCurve: curve };
  try {
    const key = createPrivateKey(pem).export({ type: "pkcs8", format: "der" });
    return await crypto.subtle.importKey("pkcs8", key, /^[RP]S/.test(algorithm) ? ofRsa : ofCurve, false, ["sign"]);
  } catch {
    // Without `cause`: an error of a key may show a part of it.
    throw new LoginFailure("refused", `the privateKey is no key for ${algorithm}`);
  }
}
