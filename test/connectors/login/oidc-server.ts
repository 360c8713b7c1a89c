import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, exportPKCS8, generateKeyPair } from "jose";
import { type AdapterPayload, type ClientMetadata, type Configuration, Provider } from "oidc-provider";

/** A request to a token endpoint. */
export interface TokenRequestSeen {
  readonly grant: string;
  readonly refreshToken: string | null;
  readonly authorization: string;
  readonly parameters: URLSearchParams;
}

/** A real authorization server on this machine. */
export interface OidcServer extends AsyncDisposable {
  readonly issuer: string;
  readonly seen: TokenRequestSeen[];
  /** Private key of the client `signed`, in PEM. */
  readonly privateKey: string;
  /** Private key of the client `pss`, which signs with RSA-PSS, in PEM. */
  readonly pssKey: string;
  /** Answers a request instead of the server, where it returns true. */
  intercept: ((request: IncomingMessage, response: ServerResponse) => boolean) | null;
  /** Life of tokens as answers name it, in seconds; `null` for the true one. */
  saidLifeS: number | null;
  /** Called with each answer of the token endpoint before it is sent. */
  onAnswer: ((body: string) => Promise<void> | void) | null;
  /** A refresh token of an account that has logged in. */
  refreshTokenFor(clientId: string, account?: string): Promise<string>;
  /** Whether an access token is one of the server's that has not ended. */
  knows(token: string): Promise<boolean>;
  /** For whom an access token is. */
  accountOf(token: string): Promise<string | null>;
  /** An account that enters the code of a device flow. */
  approveDevice(userCode: string, account: string): Promise<void>;
}

export interface OidcOptions {
  /** Life of access tokens, in seconds. Default: 3,600. */
  readonly lifeS?: number;
  /** Time for which a used refresh token works once more, in milliseconds. Default: 0. */
  readonly graceMs?: number;
  readonly redirectUris?: readonly string[];
  /** Whether it gives refresh tokens. Default: true. */
  readonly refreshes?: boolean;
}

const SCOPES = ["openid", "offline_access", "read"];

export async function serveOidc({
  lifeS = 3_600,
  graceMs = 0,
  redirectUris = [],
  refreshes = true,
}: OidcOptions = {}): Promise<OidcServer> {
  const seen: TokenRequestSeen[] = [];
  const { publicKey, privateKey } = await generateKeyPair("ES256", { extractable: true });
  const server = createServer();
  await once(server.listen(0, "127.0.0.1"), "listening");
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const code = { redirect_uris: [...redirectUris], response_types: ["code" as const] };
  const refreshing = ["authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:device_code"];
  const machine = { grant_types: ["client_credentials"], redirect_uris: [], response_types: [] };
  const pss = await generateKeyPair("PS256", { extractable: true });
  const clients: ClientMetadata[] = [
    { client_id: "machine", client_secret: SECRET, ...machine },
    { client_id: "poster", client_secret: SECRET, token_endpoint_auth_method: "client_secret_post", ...machine },
    {
      client_id: "signed",
      token_endpoint_auth_method: "private_key_jwt",
      token_endpoint_auth_signing_alg: "ES256",
      jwks: { keys: [{ ...(await exportJWK(publicKey)), use: "sig", alg: "ES256" }] },
      ...machine,
    },
    {
      client_id: "pss",
      token_endpoint_auth_method: "private_key_jwt",
      token_endpoint_auth_signing_alg: "PS256",
      jwks: { keys: [{ ...(await exportJWK(pss.publicKey)), use: "sig", alg: "PS256" }] },
      ...machine,
    },
    {
      client_id: "app",
      client_secret: SECRET,
      grant_types: refreshing,
      ...code,
      redirect_uris: ["http://127.0.0.1/callback", ...redirectUris],
    },
    {
      client_id: "public",
      token_endpoint_auth_method: "none",
      application_type: "native",
      grant_types: refreshing,
      ...code,
      redirect_uris: ["http://127.0.0.1/callback", ...redirectUris],
    },
  ];
  const { privateKey: own } = await generateKeyPair("RS256", { extractable: true });
  const jwks = { keys: [{ ...(await exportJWK(own)), use: "sig", alg: "RS256" }] };
  const provider = new Provider(issuer, {
    ...configurationOf(clients, { lifeS, graceMs, refreshes }),
    jwks: jwks as never,
  });
  provider.on("server_error", (_context, error) => console.error(error));
  const served: OidcServer = {
    issuer,
    seen,
    privateKey: await exportPKCS8(privateKey),
    pssKey: await exportPKCS8(pss.privateKey),
    intercept: null,
    onAnswer: null,
    saidLifeS: null,
    refreshTokenFor: async (clientId, account = "ann") => {
      const grant = new provider.Grant({ accountId: account, clientId });
      grant.addOIDCScope(SCOPES.join(" "));
      const grantId = await grant.save();
      const client = await provider.Client.find(clientId);
      if (client === undefined) throw new TypeError("no such client");
      const token = new provider.RefreshToken({
        accountId: account,
        client,
        grantId,
        scope: SCOPES.join(" "),
        gty: "authorization_code",
        iiat: Math.floor(Date.now() / 1_000),
        expiresWithSession: false,
      } as never);
      return token.save();
    },
    knows: async (token) => {
      const found = (await provider.AccessToken.find(token)) ?? (await provider.ClientCredentials.find(token));
      return found !== undefined && !found.isExpired;
    },
    accountOf: async (token) => {
      const found = await provider.AccessToken.find(token);
      return found === undefined || found.isExpired ? null : found.accountId;
    },
    approveDevice: async (userCode, accountId) => {
      const found = await provider.DeviceCode.findByUserCode(userCode.replaceAll("-", ""));
      if (found === undefined) throw new TypeError("no such code");
      const grant = new provider.Grant({ accountId, clientId: found.clientId ?? "" });
      grant.addOIDCScope(SCOPES.join(" "));
      const resource = [found.params?.["resource"] ?? []].flat() as string[];
      for (const one of resource) grant.addResourceScope(one, "read");
      const authTime = Math.floor(Date.now() / 1_000);
      const scope = "offline_access read";
      Object.assign(found, { accountId, grantId: await grant.save(), scope, authTime, resource });
      await (found as unknown as { save(lifeS: number): Promise<unknown> }).save(600);
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await server[Symbol.asyncDispose]();
    },
  };
  const handle = provider.callback();
  server.on("request", (request, response) => {
    if (served.intercept?.(request, response) === true) return;
    const { pathname } = new URL(request.url ?? "/", issuer);
    if (pathname.startsWith("/interaction/")) return void interact(provider, request, response);
    if (pathname === "/token") watch(request, response, served);
    void handle(request, response);
  });
  return served;
}

export const SECRET = "a client secret that nobody sees";

function configurationOf(
  clients: ClientMetadata[],
  { lifeS, graceMs, refreshes }: { readonly lifeS: number; readonly graceMs: number; readonly refreshes: boolean },
): Configuration {
  return {
    clients,
    adapter: adapterWith(graceMs),
    scopes: SCOPES,
    ttl: {
      AccessToken: lifeS,
      ClientCredentials: lifeS,
      RefreshToken: 86_400,
      Grant: 86_400,
      Session: 86_400,
      Interaction: 600,
      IdToken: 600,
      AuthorizationCode: 60,
      DeviceCode: 600,
    },
    features: {
      clientCredentials: { enabled: true },
      deviceFlow: {
        enabled: true,
        userCodeInputSource: (context, form) => void (context.body = form),
        userCodeConfirmSource: (context, form) => void (context.body = form),
        successSource: (context) => void (context.body = "done"),
      },
      devInteractions: { enabled: false },
      registration: { enabled: true },
      revocation: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => [] as never,
        useGrantedResource: () => true,
        getResourceServerInfo: (_context, resource) => ({
          scope: "read",
          audience: resource,
          accessTokenTTL: lifeS,
          accessTokenFormat: "opaque",
        }),
      },
    },
    rotateRefreshToken: true,
    issueRefreshToken: () => refreshes,
    pkce: { required: () => true },
    findAccount: (_context, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
    loadExistingGrant: async (context) => {
      const { client, session, params } = context.oidc;
      const grant = new context.oidc.provider.Grant({ accountId: session?.accountId, clientId: client?.clientId });
      grant.addOIDCScope(SCOPES.join(" "));
      for (const resource of [params?.["resource"] ?? []].flat()) grant.addResourceScope(resource as string, "read");
      await grant.save();
      return grant;
    },
    interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
    cookies: { keys: ["test"] },
  } as Configuration;
}

/** Whoever comes is logged in, as the account that the login hint names. */
async function interact(provider: Provider, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { params } = await provider.interactionDetails(request, response);
  const accountId = typeof params["login_hint"] === "string" ? params["login_hint"] : "ann";
  await provider.interactionFinished(request, response, { login: { accountId }, consent: {} });
}

function watch(request: IncomingMessage, response: ServerResponse, served: OidcServer): void {
  const parts: Buffer[] = [];
  request.on("data", (part: Buffer) => parts.push(part));
  request.on("end", () => {
    const parameters = new URLSearchParams(Buffer.concat(parts).toString());
    served.seen.push({
      grant: parameters.get("grant_type") ?? "",
      refreshToken: parameters.get("refresh_token"),
      authorization: request.headers.authorization ?? "",
      parameters,
    });
  });
  const end = response.end.bind(response);
  response.end = ((body: unknown, ...rest: unknown[]) => {
    const { saidLifeS } = served;
    // Not longer than the true number: the head of the answer was written.
    const said =
      saidLifeS === null
        ? String(body)
        : String(body).replace(
            /("expires_in":)(\d+)/,
            (_all, key: string, life: string) => key + String(saidLifeS).padEnd(life.length),
          );
    void Promise.resolve(served.onAnswer?.(said)).then(() => Reflect.apply(end, undefined, [said, ...rest]));
    return response;
  }) as typeof end;
}

/** The library's store in memory, with servers' usual leeway: a used refresh token counts as used after some time. */
function adapterWith(graceMs: number): Configuration["adapter"] {
  const all = new Map<string, AdapterPayload & { readonly endsMs: number }>();
  return class {
    readonly #model: string;

    constructor(model: string) {
      this.#model = model;
    }

    async upsert(id: string, payload: AdapterPayload, lifeS: number): Promise<void> {
      all.set(`${this.#model}:${id}`, { ...payload, endsMs: Date.now() + (lifeS || 86_400) * 1_000 });
    }

    async find(id: string): Promise<AdapterPayload | undefined> {
      const found = all.get(`${this.#model}:${id}`);
      if (found === undefined || found.endsMs < Date.now()) return undefined;
      const { endsMs: _ends, consumed, ...rest } = found;
      const isUsed = typeof consumed === "number" && Date.now() - consumed > graceMs;
      return isUsed ? { ...rest, consumed: Math.floor(consumed / 1_000) } : rest;
    }

    async findByUserCode(code: string): Promise<AdapterPayload | undefined> {
      return [...all.values()].find(({ userCode }) => userCode === code);
    }

    async findByUid(uid: string): Promise<AdapterPayload | undefined> {
      return [...all.values()].find((payload) => payload.uid === uid);
    }

    async consume(id: string): Promise<void> {
      const found = all.get(`${this.#model}:${id}`);
      if (found !== undefined) Object.assign(found, { consumed: found.consumed ?? Date.now() });
    }

    async destroy(id: string): Promise<void> {
      all.delete(`${this.#model}:${id}`);
    }

    async revokeByGrantId(grantId: string): Promise<void> {
      for (const [key, payload] of all) if (payload.grantId === grantId) all.delete(key);
    }
  };
}
