import { setTimeout as delay } from "node:timers/promises";
import type * as OAuth from "oauth4webapi";
import type { LoginStore } from "../store/login-store.ts";
import {
  type AuthorizationServer,
  failureOf,
  type KnownClient,
  loadOAuth,
  type TokenAnswer,
} from "./authorization-server.ts";
import { LoginFailure } from "./failure.ts";
import { renewedLogin, writeLogin } from "./kept-login.ts";
import { keyOfLogin } from "./settings.ts";

/** Lifetime of a new login. */
export interface GivenLogin {
  /** Whether it is renewed by itself: the server gave a refresh token, or a token without an end. */
  readonly isRenewed: boolean;
  /** Life of the access token; `null` where the server says nothing. */
  readonly lifeMs: number | null;
}

/** A login that a person finishes in a browser. */
export interface BrowserLogin {
  /** The URL at which the person logs in. */
  readonly url: string;
  readonly state: string;
  /** Takes the address to which the browser was sent back, and stores the login. Rejects with a `LoginFailure`. */
  readonly finish: (callback: URL) => Promise<GivenLogin>;
}

/** A login that a person finishes on another device. */
export interface DeviceLogin {
  readonly userCode: string;
  readonly verificationUrl: string;
  /** With the code in it, if the server has such a URL. */
  readonly completeUrl: string | null;
  /** Waits for the person, and stores the login. Rejects with a `LoginFailure`. */
  readonly finish: (signal: AbortSignal) => Promise<GivenLogin>;
}

const CLIENT_NAME = "Glovebox";
const GRANT = {
  code: "authorization_code",
  refresh: "refresh_token",
  device: "urn:ietf:params:oauth:grant-type:device_code",
} as const;
/** Pauses between questions of a device flow. */
const INTERVAL_S = 5;
const INTERVAL_MIN_S = 1;
const INTERVAL_MAX_S = 60;
const CODE_MAX = 64;

/** Logs a connector in: by authorization code with PKCE, or by the device flow. */
export class LoginFlow {
  readonly #server: AuthorizationServer;
  readonly #store: LoginStore;

  constructor(server: AuthorizationServer, store: LoginStore) {
    this.#server = server;
    this.#store = store;
  }

  /** `redirectUri`: the address to which the browser is sent back. */
  async begin(redirectUri: string, tenant: string): Promise<BrowserLogin> {
    const oauth = await loadOAuth();
    const server = this.#server;
    const as = await server.metadata();
    if (as.authorization_endpoint === undefined)
      throw new LoginFailure("refused", "the authorization server has no authorization endpoint; try --device");
    const url = server.fetch.admit(as.authorization_endpoint);
    const known = await this.#client(oauth, as, redirectUri);
    const verifier = oauth.generateRandomCodeVerifier();
    const state = oauth.generateRandomState();
    const asked = {
      client_id: known.clientId,
      redirect_uri: redirectUri,
      response_type: "code",
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      code_challenge_method: "S256",
      state,
      ...this.#asked(),
    };
    for (const [name, value] of Object.entries(asked)) url.searchParams.set(name, value);
    return {
      url: url.href,
      state,
      finish: async (callback) => {
        const answer = await server.grant(known, async (_oauth, { client, proof, options }) => {
          const parameters = oauth.validateAuthResponse(as, client, callback.searchParams, state);
          const request = [as, client, proof, parameters, redirectUri, verifier] as const;
          const response = await oauth.authorizationCodeGrantRequest(...request, options);
          return oauth.processAuthorizationCodeResponse(as, client, response);
        });
        return this.#keep(answer, known, tenant);
      },
    };
  }

  async device(tenant: string): Promise<DeviceLogin> {
    const oauth = await loadOAuth();
    const server = this.#server;
    const as = await server.metadata();
    if (as.device_authorization_endpoint === undefined)
      throw new LoginFailure("refused", "the authorization server has no device flow; log in without --device");
    const known = await this.#client(oauth, as, null);
    const { client, proof } = await server.requestOf(oauth, known);
    const begun = await oauth
      .deviceAuthorizationRequest(as, client, proof, this.#asked(), server.httpOptions(oauth))
      .then((response) => oauth.processDeviceAuthorizationResponse(as, client, response))
      .catch((error: unknown) => Promise.reject(failureOf(oauth, error)));
    const { user_code: userCode, verification_uri: url, verification_uri_complete: complete } = begun;
    if (userCode.length > CODE_MAX)
      throw new LoginFailure("failed", "the authorization server's code is too long to type");
    return {
      userCode,
      verificationUrl: server.fetch.admit(url).href,
      completeUrl: complete === undefined ? null : server.fetch.admit(complete).href,
      finish: async (signal) => this.#keep(await this.#poll(known, begun, signal), known, tenant),
    };
  }

  async #poll(
    known: KnownClient,
    { device_code: deviceCode, expires_in: lifeS, interval = INTERVAL_S }: OAuth.DeviceAuthorizationResponse,
    signal: AbortSignal,
  ): Promise<TokenAnswer> {
    const untilMs = performance.now() + lifeS * 1_000;
    for (let pauseS = interval; performance.now() < untilMs;) {
      await delay(Math.min(Math.max(pauseS, INTERVAL_MIN_S), INTERVAL_MAX_S) * 1_000, undefined, { signal });
      try {
        return await this.#server.grant(known, async (oauth, { as, client, proof, options }) => {
          const response = await oauth.deviceCodeGrantRequest(as, client, proof, deviceCode, options);
          return oauth.processDeviceCodeResponse(as, client, response);
        });
      } catch (error) {
        const { code, kind } = error instanceof LoginFailure ? error : new LoginFailure("failed", "");
        if (code === "slow_down") pauseS += INTERVAL_S;
        else if (code !== "authorization_pending" && kind === "refused") throw error;
      }
    }
    throw new LoginFailure("refused", "nobody has logged in while the code was good");
  }

  /** Parameters of a request for an authorization. */
  #asked(): { readonly [name: string]: string } {
    const { scope, resource, audience } = this.#server.settings;
    return {
      ...(scope === null ? {} : { scope }),
      ...(resource === null ? {} : { resource }),
      ...(audience === null ? {} : { audience }),
    };
  }

  /** The client of the options, or one registered now (RFC 7591). */
  async #client(oauth: typeof OAuth, as: OAuth.AuthorizationServer, redirectUri: string | null): Promise<KnownClient> {
    const { clientId, scope } = this.#server.settings;
    if (clientId !== null) return { clientId, clientSecret: null };
    if (as.registration_endpoint === undefined)
      throw new LoginFailure("refused", "the authorization server registers no clients; write a clientId");
    const isLocal = redirectUri === null || new URL(redirectUri).protocol === "http:";
    const wanted = {
      client_name: CLIENT_NAME,
      token_endpoint_auth_method: "none",
      application_type: isLocal ? "native" : "web",
      ...(redirectUri === null
        ? { grant_types: [GRANT.device, GRANT.refresh], redirect_uris: [], response_types: [] }
        : { grant_types: [GRANT.code, GRANT.refresh], redirect_uris: [redirectUri], response_types: ["code"] }),
      ...(scope === null ? {} : { scope }),
    };
    const made = await oauth
      .dynamicClientRegistrationRequest(as, wanted as never, this.#server.httpOptions(oauth))
      .then((response) => oauth.processDynamicClientRegistrationResponse(response))
      .catch((error: unknown) => Promise.reject(failureOf(oauth, error)));
    const { client_secret: secret, token_endpoint_auth_method: method } = made;
    const isSecret = typeof secret === "string" && method !== "none";
    return { clientId: made.client_id, clientSecret: isSecret ? secret : null };
  }

  async #keep(answer: TokenAnswer, known: KnownClient, tenant: string): Promise<GivenLogin> {
    const { settings } = this.#server;
    const { origin } = await this.#server.tokenEndpoint();
    const client = settings.clientId === null ? known : null;
    const login = renewedLogin(settings, answer, { origin, refreshToken: null, seed: null, client });
    await this.#store.write(keyOfLogin(settings, tenant), null, writeLogin(login));
    const { lifeMs } = answer;
    return { isRenewed: lifeMs === null || answer.refreshToken !== null, lifeMs };
  }
}
