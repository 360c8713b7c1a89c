import type { LoginReport } from "../../kernel/base/connector-report.ts";
import { within } from "../../kernel/base/deadline.ts";
import { type LoginStore, openLoginStore } from "../store/login-store.ts";
import type { Connections } from "../../kernel/broker/capabilities/fetch/connections.ts";
import type { Secrets } from "../../kernel/broker/capabilities/secrets/secrets.ts";
import { AuthorizationServer } from "./authorization-server.ts";
import type { AccessToken } from "./held-token.ts";
import { Login } from "./login.ts";
import type { LoginUse } from "./settings.ts";
import { tokenSecret, TokenSecrets } from "./token-secrets.ts";

export interface LoginsHost {
  readonly connections: Connections;
  readonly secrets: Secrets;
  readonly onReport: (report: LoginReport) => void;
}

/** A token that a request carries. */
export interface RequestToken extends AccessToken {
  readonly secrets: TokenSecrets;
}

/** Tenants whose logins are in memory; the others are read again. */
const TENANTS_MAX = 1_000;
/** Less than the time that a broker has to close. */
const CLOSE_MS = 2_500;
/** Former tokens that are searched for in answers. */
const FORMER_MAX = 3;

/** The logins of one connector: one for all, or one for each tenant. */
export class Logins {
  readonly #use: LoginUse;
  readonly #server: string;
  readonly #host: LoginsHost;
  readonly #authorization: AuthorizationServer;
  /** Least recently used first. */
  readonly #logins = new Map<string, { readonly login: Login; token: RequestToken | null }>();
  #store: Promise<LoginStore> | null = null;

  /** `server`: URL of the connector's server, to whose origin its tokens are bound. */
  constructor(use: LoginUse, server: string, host: LoginsHost) {
    this.#use = use;
    this.#server = server;
    this.#host = host;
    this.#authorization = new AuthorizationServer(use.settings, host.connections, host.secrets);
    if (!this.isPerTenant) void this.#of("").login.look();
  }

  get isPerTenant(): boolean {
    const { grant } = this.#use.settings;
    return grant.kind === "authorizationCode" && grant.perTenant;
  }

  /** A token for a request of a tenant. `refused`: one that the server has refused. Rejects with a `LoginFailure`. */
  async token(tenant: string, refused: RequestToken | null = null): Promise<RequestToken> {
    const entry = this.#of(this.isPerTenant ? tenant : "");
    if (refused !== null) entry.login.reject(refused);
    const { value, version } = await entry.login.token();
    if (entry.token?.value === value) return entry.token;
    const { connector } = this.#use.settings;
    const former = entry.token?.secrets.values.slice(0, FORMER_MAX) ?? [];
    const secrets = new TokenSecrets(this.#host.secrets, tokenSecret(connector, value, this.#server), former);
    return (entry.token = { value, version, secrets });
  }

  /** Waits for a current renewal: its refresh token may be the only valid one. */
  async close(): Promise<void> {
    await within(CLOSE_MS, Promise.all([...this.#logins.values()].map(({ login }) => login.settled())));
    const store = this.#store;
    this.#store = null;
    await (await store?.catch(() => undefined))?.close();
  }

  #of(tenant: string): { readonly login: Login; token: RequestToken | null } {
    const found = this.#logins.get(tenant) ?? { login: this.#create(tenant), token: null };
    this.#logins.delete(tenant);
    this.#logins.set(tenant, found);
    if (this.#logins.size > TENANTS_MAX) {
      const [oldest] = [...this.#logins].filter(([, { login }]) => login.isIdle);
      if (oldest !== undefined) this.#logins.delete(oldest[0]);
    }
    return found;
  }

  #create(tenant: string): Login {
    const store = (): Promise<LoginStore> => {
      this.#store ??= openLoginStore(this.#use.store).catch((error: unknown) => {
        // A repaired key or file is read again.
        this.#store = null;
        throw error;
      });
      return this.#store;
    };
    return new Login({ server: this.#authorization, store, onReport: this.#host.onReport }, tenant);
  }
}
