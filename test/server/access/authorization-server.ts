import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, type JWTPayload, SignJWT } from "jose";

export const CLIENT = { id: "glovebox", secret: "s%cret: of the service" };

interface KeyPair {
  readonly kid: string;
  readonly alg: string;
  readonly privateKey: CryptoKey;
  readonly publicJwk: JWK;
}

/** An authorization server: metadata, keys that rotate, tokens for clients, and introspection. */
export class AuthorizationServer implements AsyncDisposable {
  readonly url: string;
  /** How often each path was asked for. */
  readonly requests = new Map<string, number>();
  /** What introspection says of a token. */
  readonly introspected = new Map<string, object>();
  /** Audiences that clients asked for with `resource`. */
  readonly resources: (string | null)[] = [];
  isDown = false;
  /** Characters that are added to the keys. */
  padding = 0;
  keys: readonly KeyPair[] = [];
  readonly #server: ReturnType<typeof createServer>;

  static async open(): Promise<AuthorizationServer> {
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    const opened = new AuthorizationServer(server, typeof address === "object" ? (address?.port ?? 0) : 0);
    await opened.rotate("ES256");
    return opened;
  }

  private constructor(server: ReturnType<typeof createServer>, port: number) {
    this.#server = server;
    this.url = `http://127.0.0.1:${port}`;
    server.on("request", (request, response) => void this.#answer(request, response));
  }

  /** Replaces the keys by a new one. */
  async rotate(alg: "ES256" | "RS256"): Promise<KeyPair> {
    const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
    const kid = `key-${crypto.randomUUID()}`;
    const pair = { kid, alg, privateKey, publicJwk: { ...(await exportJWK(publicKey)), kid, alg, use: "sig" } };
    this.keys = [pair];
    return pair;
  }

  /** A token signed by the newest key, valid for an hour. */
  sign(claims: JWTPayload, pair = this.keys.at(-1)): Promise<string> {
    return this.signForever({ exp: Math.floor(Date.now() / 1_000) + 3_600, ...claims }, pair);
  }

  /** A token that does not say when it expires. */
  signForever(claims: JWTPayload, pair = this.keys.at(-1)): Promise<string> {
    if (pair === undefined) throw new Error("there is no key");
    const all = { iss: this.url, sub: "ada", ...claims };
    return new SignJWT(all).setProtectedHeader({ alg: pair.alg, kid: pair.kid, typ: "at+jwt" }).sign(pair.privateKey);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = new URL(request.url ?? "/", this.url).pathname;
    this.requests.set(path, (this.requests.get(path) ?? 0) + 1);
    if (this.isDown) return void response.writeHead(503).end("down");
    const said = await this.#read(path, request);
    response.writeHead(said === null ? 404 : 200, { "content-type": "application/json" });
    response.end(JSON.stringify(said ?? {}));
  }

  async #read(path: string, request: IncomingMessage): Promise<object | null> {
    switch (path) {
      case "/keys":
        return { keys: this.keys.map(({ publicJwk }) => publicJwk), padding: "x".repeat(this.padding) };
      case "/.well-known/oauth-authorization-server":
        return {
          issuer: this.url,
          authorization_endpoint: `${this.url}/authorize`,
          token_endpoint: `${this.url}/token`,
          jwks_uri: `${this.url}/keys`,
          response_types_supported: ["code"],
          grant_types_supported: ["client_credentials"],
          token_endpoint_auth_methods_supported: ["client_secret_basic"],
          code_challenge_methods_supported: ["S256"],
        };
      case "/token": {
        const form = new URLSearchParams(await textOf(request));
        const resource = form.get("resource");
        this.resources.push(resource);
        const token = await this.sign({ aud: resource ?? "", scope: "tools.call", org: "acme" });
        return { access_token: token, token_type: "Bearer", expires_in: 3_600 };
      }
      case "/introspect": {
        const credentials = `${encodeURIComponent(CLIENT.id)}:${encodeURIComponent(CLIENT.secret)}`;
        if (request.headers.authorization !== `Basic ${Buffer.from(credentials).toString("base64")}`) return null;
        const form = new URLSearchParams(await textOf(request));
        return this.introspected.get(form.get("token") ?? "") ?? { active: false };
      }
      default:
        return null;
    }
  }
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of request) text += String(chunk);
  return text;
}
