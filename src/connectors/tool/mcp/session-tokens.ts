import { LoginFailure } from "../../login/failure.ts";
import type { Logins, RequestToken } from "../../login/logins.ts";
import { McpError } from "./failure.ts";

/** The tokens that a session has sent, which are taken out of all that leaves its thread. */
export class CarriedTokens {
  #last: RequestToken | null = null;

  add(token: RequestToken): void {
    this.#last = token;
  }

  clean(text: string): string {
    if (this.#last === null) return text;
    const { secrets } = this.#last;
    return secrets.redactorOf(new Set([secrets.name]))?.text(text) ?? text;
  }
}

/** The tokens of a session's requests. */
export class SessionTokens {
  readonly #logins: Logins;
  readonly #tenant: string;
  readonly #carried: CarriedTokens;

  constructor(logins: Logins, tenant: string, carried: CarriedTokens) {
    this.#logins = logins;
    this.#tenant = tenant;
    this.#carried = carried;
  }

  /** `refused`: one that the server has refused. Rejects with an `McpError`. */
  async token(refused: RequestToken | null = null): Promise<RequestToken> {
    try {
      const token = await this.#logins.token(this.#tenant, refused);
      this.#carried.add(token);
      return token;
    } catch (error) {
      if (!(error instanceof LoginFailure)) throw error;
      const { message, kind, retryAfterMs } = error;
      const isTransient = kind === "failed";
      throw new McpError(message, { isSent: false, isTransient, needsLogin: !isTransient, retryAfterMs });
    }
  }
}
