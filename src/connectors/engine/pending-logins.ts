import type { BegunLogin, FinishedLogin } from "../../kernel/base/connector-report.ts";
import { GloveboxError } from "../../kernel/base/errors.ts";
import type { BrowserLogin } from "../login/login-flow.ts";
import { LoginFailure } from "../login/failure.ts";
import type { ResolvedConnector } from "../tool/options.ts";
import type { SourceOptions } from "./connector-source.ts";

interface PendingLogin extends FinishedLogin {
  readonly login: BrowserLogin;
  readonly opened: AsyncDisposable;
  readonly timer: NodeJS.Timeout;
}

const PENDING_MAX = 100;
const PENDING_MS = 600_000;

/** Logins of an engine's connectors that browsers are to finish, each once and in time. */
export class PendingLogins implements AsyncDisposable {
  /** By the state, which only the initiator of the login has. */
  readonly #pending = new Map<string, PendingLogin>();
  /** Those whose authorization server is still being asked. */
  #beginning = 0;

  async begin(
    connector: ResolvedConnector,
    { redirectUri, tenant }: { readonly redirectUri: string; readonly tenant: string },
    options: SourceOptions,
  ): Promise<BegunLogin> {
    if (this.#pending.size + this.#beginning >= PENDING_MAX)
      throw new GloveboxError("rate_limited", `${PENDING_MAX} logins wait for a browser; try again later`);
    this.#beginning++;
    try {
      const { ConnectorLogin } = await import("./connector-login.ts");
      const opened = await ConnectorLogin.open(connector, tenant, options);
      const login = await opened.flow.begin(redirectUri, tenant).catch(async (error: unknown) => {
        await opened[Symbol.asyncDispose]();
        throw failed(error);
      });
      const timer = setTimeout(() => void this.#forget(login.state), PENDING_MS).unref();
      this.#pending.set(login.state, { connector: connector.name, tenant, login, opened, timer });
      return { url: login.url, expiresInMs: PENDING_MS };
    } finally {
      this.#beginning--;
    }
  }

  /**
   * Takes the address to which a browser was sent back; `null` if no login waits for it. Rejects with a
   * `GloveboxError`.
   */
  finish(callback: URL): Promise<FinishedLogin> | null {
    // Taken at once: a server that gets a code twice revokes its tokens.
    const pending = this.#take(callback.searchParams.get("state") ?? "");
    return pending === undefined ? null : this.#finish(pending, callback);
  }

  async #finish({ connector, tenant, login, opened }: PendingLogin, callback: URL): Promise<FinishedLogin> {
    try {
      await login.finish(callback);
      return { connector, tenant };
    } catch (error) {
      throw failed(error);
    } finally {
      await opened[Symbol.asyncDispose]();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#pending.keys()].map((state) => this.#forget(state)));
  }

  #take(state: string): PendingLogin | undefined {
    const pending = this.#pending.get(state);
    this.#pending.delete(state);
    clearTimeout(pending?.timer);
    return pending;
  }

  async #forget(state: string): Promise<void> {
    await this.#take(state)?.opened[Symbol.asyncDispose]();
  }
}

function failed(error: unknown): unknown {
  return error instanceof LoginFailure ? new GloveboxError("capability_failed", error.message) : error;
}
