import type { LoginReport } from "../../kernel/base/connector-report.ts";
import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { valueIn } from "../../kernel/base/deadline.ts";
import { messageOf } from "../../kernel/broker/method-call.ts";
import type { LoginStore } from "../store/login-store.ts";
import type { LoginClaim, LoginHolder, StoredLogin } from "../store/login-table.ts";
import type { AuthorizationServer, TokenAnswer } from "./authorization-server.ts";
import { LoginFailure } from "./failure.ts";
import { type AccessToken, EARLY_MS, type HeldToken, heldToken, USED_MS } from "./held-token.ts";
import { type KeptLogin, leftMsOf, readLogin, renewedLogin, seedOf, writeLogin } from "./kept-login.ts";
import { keyOfLogin, loginCommand, type LoginSettings } from "./settings.ts";

export interface LoginHost {
  readonly server: AuthorizationServer;
  readonly store: () => Promise<LoginStore>;
  readonly onReport: (report: LoginReport) => void;
}

/** Claim of the one who renews. It is extended while the server is asked, and ends by itself when its process does. */
const LEASE_MS = 5_000;
const EXTEND_MS = 1_500;
const LOOK_MS = 50;
/** Time for a renewal, with the waits for other processes. */
const RENEWAL_MS = 25_000;
/** Pause after a failed renewal; it doubles. */
const PAUSE_MS = 1_000;
const PAUSE_MAX_MS = 60_000;
/** Pause after a refusal, as the options may be corrected at the server. */
const REFUSED_PAUSE_MS = 60_000;
const REFUSED_PAUSE_MAX_MS = 600_000;
/** Least time between two looks into the store for another login. */
const RELOOK_MS = 1_000;
/** Longest wait for the store while a token is there that has not ended. */
const LOOK_MAX_MS = 250;

interface Trouble {
  readonly failure: LoginFailure;
  readonly untilMs: number;
  /** The stored login that was refused: another one may work. */
  readonly version: number;
}

/** The login of one connector, for all tenants or for one. It is renewed once for all waiting calls. */
export class Login {
  readonly #host: LoginHost;
  readonly #settings: LoginSettings;
  readonly #tenant: string;
  readonly #key: string;
  readonly #owner = randomUUID();
  #token: HeldToken | null = null;
  /** Version of a token that the connector's server has refused. */
  #rejected: number | null = null;
  #rejectedMs = -Infinity;
  #rejections = 0;
  #renewing: Promise<HeldToken> | null = null;
  #trouble: Trouble | null = null;
  #failures = 0;
  #lookedMs = -Infinity;
  #comparing: Promise<void> | null = null;
  #told: LoginReport["state"] | null = null;
  /** Whether the current attempt sends a request to the server. */
  #hasAsked = false;
  /** Version of the last token that was not stored. */
  #alone = -1;

  constructor(host: LoginHost, tenant: string) {
    this.#host = host;
    this.#settings = host.server.settings;
    this.#tenant = tenant;
    this.#key = keyOfLogin(this.#settings, tenant);
  }

  /** Whether no call waits for it. */
  get isIdle(): boolean {
    return this.#renewing === null;
  }

  /** Resolves when no renewal is in progress. */
  async settled(): Promise<void> {
    await this.#renewing?.catch(() => undefined);
  }

  /** A token that the server may accept. Rejects with a `LoginFailure`. */
  async token(): Promise<AccessToken> {
    await this.#compare();
    const nowMs = performance.now();
    const held = this.#token;
    if (held === null || held.version === this.#rejected || nowMs >= held.endsMs) return this.#renew();
    if (nowMs < held.renewAtMs) return held;
    // Early calls use the old token; late ones wait.
    const renewed = this.#renew();
    if (nowMs < (held.renewAtMs + held.endsMs) / 2) {
      renewed.catch(() => undefined);
      return held;
    }
    return renewed.catch(() => held);
  }

  /** The connector's server refuses a token, so that the next one is another. */
  reject({ version }: AccessToken): void {
    const nowMs = performance.now();
    const sinceMs = nowMs - this.#rejectedMs;
    // A server that refuses every token must not have one made for each call.
    if (version !== this.#token?.version || sinceMs < Math.min(PAUSE_MAX_MS, PAUSE_MS * 2 ** this.#rejections)) return;
    this.#rejections = sinceMs > REFUSED_PAUSE_MAX_MS ? 0 : this.#rejections + 1;
    this.#rejectedMs = nowMs;
    this.#rejected = version;
  }

  /** Determines whether there is a login, without a request to a server. */
  async look(): Promise<void> {
    if (this.#settings.grant.kind !== "authorizationCode") return;
    try {
      const kept = this.#read(await this.#readStored());
      if (kept === null || kept.refused !== null) this.#tell("needed", this.#needed(kept).message);
      else this.#tell("ready", null);
    } catch (error) {
      this.#tell("failing", messageOf(error));
    }
  }

  /** Lets go of a token where another process has logged in or out since. A store that fails changes nothing. */
  async #compare(): Promise<void> {
    const held = this.#token;
    if (held === null || this.#settings.grant.kind !== "authorizationCode") return;
    const nowMs = performance.now();
    if (this.#comparing === null && nowMs < this.#lookedMs + RELOOK_MS) return;
    this.#lookedMs = nowMs;
    await (this.#comparing ??= valueIn(LOOK_MAX_MS, this.#readStored()).then((stored) => {
      this.#comparing = null;
      if (stored !== undefined && stored?.version !== held.version && this.#token === held) this.#token = null;
    }));
  }

  async #readStored(): Promise<StoredLogin | null> {
    return (await this.#host.store()).read(this.#key);
  }

  async #renew(): Promise<HeldToken> {
    if (this.#renewing !== null) return this.#renewing;
    await this.#heed();
    return (this.#renewing ??= this.#attempt().finally(() => {
      this.#renewing = null;
    }));
  }

  /** Throws while it is too early to try again, unless the store has another login than the refused one. */
  async #heed(): Promise<void> {
    const trouble = this.#trouble;
    const nowMs = performance.now();
    if (trouble === null || nowMs >= trouble.untilMs) return;
    const { failure, version, untilMs } = trouble;
    if (failure.kind === "refused" && nowMs >= this.#lookedMs + RELOOK_MS) {
      this.#lookedMs = nowMs;
      const stored = await this.#readStored().catch(() => null);
      if (stored !== null && stored.version !== version) return;
    }
    const waitMs = Number.isFinite(untilMs) ? Math.ceil(untilMs - nowMs) : null;
    throw new LoginFailure(failure.kind, failure.message, waitMs);
  }

  async #attempt(): Promise<HeldToken> {
    let version = -1;
    this.#hasAsked = false;
    try {
      const token = await this.#renewed((seen) => (version = seen));
      this.#trouble = null;
      this.#failures = 0;
      this.#token = token;
      return token;
    } catch (error) {
      const failure =
        error instanceof LoginFailure
          ? error
          : new LoginFailure("failed", `the login cannot be renewed: ${messageOf(error)}`);
      const pauseMs = this.#pauseMs(failure);
      const shown = this.#shown(failure, failure.kind === "failed" ? pauseMs : null);
      this.#trouble = { failure: shown, version, untilMs: performance.now() + pauseMs };
      const state = failure.kind === "refused" ? "needed" : "failing";
      this.#tell(state, shown.message, this.#hasAsked ? failure.kind : null);
      throw shown;
    }
  }

  #pauseMs({ kind, code, retryAfterMs }: LoginFailure): number {
    const times = 2 ** Math.min(this.#failures++, 20);
    if (kind === "failed") return Math.max(retryAfterMs ?? 0, Math.min(PAUSE_MAX_MS, PAUSE_MS * times));
    // A person has to log in: retries are useless until then.
    const isPerson = this.#settings.grant.kind === "authorizationCode";
    if (isPerson && (code === "invalid_grant" || code === "login_required")) return Number.POSITIVE_INFINITY;
    return Math.min(REFUSED_PAUSE_MAX_MS, REFUSED_PAUSE_MS * times);
  }

  /** Waits for the claim, and sends the request unless another process has renewed the login meanwhile. */
  async #renewed(onSeen: (version: number) => void): Promise<HeldToken> {
    const untilMs = performance.now() + RENEWAL_MS;
    for (;;) {
      const opened = await this.#claim(onSeen);
      // Nothing is lost without a store: the client gets another token on each request.
      if (opened === null) return await this.#askedAlone();
      const { store, isHeld, login, version } = opened;
      onSeen(version);
      const kept = this.#read(login);
      const stored = kept === null || login === null ? null : this.#fresh(kept, login.version);
      if (stored !== null) {
        if (isHeld) await store.release(this.#key, this.#owner);
        this.#tell("ready", null);
        return stored;
      }
      const asked = isHeld ? await this.#asked(store, { kept, version }, onSeen) : null;
      if (asked !== null) return asked;
      if (performance.now() > untilMs)
        throw new LoginFailure("failed", "another process does not renew the login in time");
      await delay(LOOK_MS * (1 + Math.random()));
    }
  }

  /** `null` if the store fails, and is not needed. */
  async #claim(onSeen: (version: number) => void): Promise<(LoginClaim & { readonly store: LoginStore }) | null> {
    try {
      const store = await this.#host.store();
      await this.#requireLogin(store, onSeen);
      return { store, ...(await store.claim(this.#key, this.#owner, LEASE_MS)) };
    } catch (error) {
      if (this.#settings.grant.kind === "clientCredentials") return null;
      throw error;
    }
  }

  /** Throws if there is no login, or the login was refused: then there is neither a claim nor a write. */
  async #requireLogin(store: LoginStore, onSeen: (version: number) => void): Promise<void> {
    if (this.#settings.grant.kind !== "authorizationCode") return;
    const stored = await store.read(this.#key);
    const kept = this.#read(stored);
    if (stored !== null) onSeen(stored.version);
    if (kept === null || kept.refused !== null) throw this.#needed(kept);
  }

  async #askedAlone(): Promise<HeldToken> {
    const { origin } = await this.#host.server.tokenEndpoint();
    const sinceMs = performance.now();
    const { answer } = await this.#ask(null, origin);
    this.#tell("ready", null, "renewed");
    return heldToken(answer.accessToken, --this.#alone, { sinceMs, lifeMs: answer.lifeMs });
  }

  /** The stored token, if it differs from that of this process, and is valid. */
  #fresh(kept: KeptLogin, version: number): HeldToken | null {
    const isKnown = version === this.#rejected || version === this.#token?.version;
    const leftMs = leftMsOf(kept);
    if (isKnown || kept.accessToken === null || kept.refused !== null) return null;
    const earlyMs = Math.min(EARLY_MS, (kept.lifeMs ?? 0) / 2);
    if (leftMs !== null && leftMs <= Math.min(earlyMs, USED_MS)) return null;
    return heldToken(kept.accessToken, version, { sinceMs: performance.now(), lifeMs: leftMs });
  }

  /** `null` if a person has logged in meanwhile. */
  async #asked(
    store: LoginStore,
    { kept, version: claimed }: { readonly kept: KeptLogin | null; readonly version: number },
    onSeen: (version: number) => void,
  ): Promise<HeldToken | null> {
    using _claim = this.#keepClaim(store);
    const holder = { owner: this.#owner, version: claimed };
    const isCode = this.#settings.grant.kind === "authorizationCode";
    this.#hasAsked = !isCode || (kept !== null && kept.refused === null && kept.refreshToken !== null);
    try {
      const { origin } = await this.#host.server.tokenEndpoint();
      const sinceMs = performance.now();
      const { answer, login } = await this.#ask(kept, origin);
      // Written before the new token is used: the server has revoked the old one.
      const version = await store.write(this.#key, holder, writeLogin(login));
      if (version === null) return null;
      onSeen(version);
      this.#tell("ready", null, "renewed");
      return heldToken(answer.accessToken, version, { sinceMs, lifeMs: answer.lifeMs });
    } catch (error) {
      const version = await this.#giveUp(store, { kept, holder }, error).catch(() => null);
      if (version !== null) onSeen(version);
      throw error;
    }
  }

  /** Requests a token by the grant of the options. */
  async #ask(
    kept: KeptLogin | null,
    origin: string,
  ): Promise<{ readonly answer: TokenAnswer; readonly login: KeptLogin }> {
    const { server } = this.#host;
    const settings = this.#settings;
    const { grant, scope } = settings;
    const client = kept?.client ?? null;
    const known = client ?? { clientId: settings.clientId ?? "", clientSecret: null };
    if (grant.kind === "clientCredentials") {
      const answer = await server.grant(known, async (oauth, { as, client: own, proof, options }) => {
        const parameters = { ...(options.additionalParameters as object), ...(scope === null ? {} : { scope }) };
        const { additionalParameters: _moved, ...rest } = options;
        const response = await oauth.clientCredentialsGrantRequest(as, own, proof, parameters, rest);
        return oauth.processClientCredentialsResponse(as, own, response);
      });
      return {
        answer,
        login: renewedLogin(settings, answer, { origin, refreshToken: null, seed: null, client: null }),
      };
    }
    const refreshToken = this.#refreshToken(kept, await server.tokenEndpoint());
    const seed = grant.kind === "refreshToken" ? seedOf(server.secretFor(grant.token, new URL(origin), "body")) : null;
    const answer = await server.grant(known, async (oauth, { as, client: own, proof, options }) => {
      const response = await oauth.refreshTokenGrantRequest(as, own, proof, refreshToken, options);
      return oauth.processRefreshTokenResponse(as, own, response);
    });
    return { answer, login: renewedLogin(settings, answer, { origin, refreshToken, seed, client }) };
  }

  /** The newest refresh token: a stored one, or that of the options. Throws if none is from this server. */
  #refreshToken(kept: KeptLogin | null, endpoint: URL): string {
    const { grant } = this.#settings;
    if (grant.kind === "refreshToken") {
      const first = this.#host.server.secretFor(grant.token, endpoint, "body");
      // Another first token of the operator is newer than the stored one.
      const isOwn = kept !== null && kept.seed === seedOf(first) && kept.refused === null;
      if (!isOwn || kept.refreshToken === null) return first;
      return this.#sentTo(kept.refreshToken, kept, endpoint);
    }
    if (kept === null || kept.refused !== null) throw this.#needed(kept);
    if (kept.refreshToken === null)
      throw new LoginFailure("refused", "its token has ended, and the authorization server gave no refresh token");
    return this.#sentTo(kept.refreshToken, kept, endpoint);
  }

  #sentTo(token: string, { origin }: KeptLogin, endpoint: URL): string {
    if (origin === endpoint.origin) return token;
    const problem = `the authorization server names another token endpoint, ${endpoint.origin}, than when somebody logged in`;
    throw new LoginFailure("refused", problem);
  }

  /**
   * Ends the claim. A refused login is recorded, so that neither a restart nor another process tries it again. Returns
   * its version.
   */
  async #giveUp(
    store: LoginStore,
    { kept, holder }: { readonly kept: KeptLogin | null; readonly holder: LoginHolder },
    error: unknown,
  ): Promise<number | null> {
    const isOver = error instanceof LoginFailure && error.code === "invalid_grant";
    if (isOver && kept !== null && kept.refused === null) {
      const refused = { ...kept, accessToken: null, refused: error.message };
      return store.write(this.#key, holder, writeLogin(refused));
    }
    await store.release(this.#key, this.#owner);
    return null;
  }

  #keepClaim(store: LoginStore): Disposable {
    const timer = setInterval(() => {
      store.extend(this.#key, this.#owner, LEASE_MS).catch(() => undefined);
    }, EXTEND_MS).unref();
    return { [Symbol.dispose]: () => clearInterval(timer) };
  }

  #read(login: StoredLogin | null): KeptLogin | null {
    return login === null ? null : readLogin(login.text, this.#settings);
  }

  #needed(kept: KeptLogin | null): LoginFailure {
    return new LoginFailure("refused", kept?.refused ?? "nobody has logged in", null, "login_required");
  }

  /** A failure in words that name the connector and the remedy. */
  #shown({ kind, message }: LoginFailure, retryAfterMs: number | null): LoginFailure {
    const { connector, grant } = this.#settings;
    const head = `the connector "${connector}"`;
    if (kind === "failed") return new LoginFailure(kind, `${head} gets no token now: ${message}`, retryAfterMs);
    const remedy =
      grant.kind === "authorizationCode"
        ? `run: ${loginCommand(this.#settings, this.#tenant)}`
        : `check connectors.${connector}.auth.${grant.kind} and its secrets`;
    return new LoginFailure(kind, `${head} needs a login: ${message}; ${remedy}`);
  }

  #tell(state: LoginReport["state"], reason: string | null, renewal: LoginReport["renewal"] = null): void {
    if (state === this.#told && renewal === null) return;
    this.#told = state;
    this.#host.onReport({ connector: this.#settings.connector, tenant: this.#tenant, state, reason, renewal });
  }
}
