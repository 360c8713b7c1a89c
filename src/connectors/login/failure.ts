/** The reason for a missing token. Never contains words of a server, which may be the operator's secrets. */
export class LoginFailure extends Error {
  override readonly name = "LoginFailure";
  /** `refused`: it will fail again, until a person logs in or changes the options. */
  readonly kind: "refused" | "failed";
  readonly retryAfterMs: number | null;
  /** Error code of OAuth; empty without one. */
  readonly code: string;

  constructor(kind: LoginFailure["kind"], message: string, retryAfterMs: number | null = null, code = "") {
    super(message);
    this.code = code;
    this.kind = kind;
    this.retryAfterMs = retryAfterMs;
  }
}

/** Error codes of OAuth (RFC 6749, 8628, 7591, 8707) that are shown: other words of a server are not. */
const CODES: ReadonlySet<string> = new Set([
  "invalid_request",
  "invalid_client",
  "invalid_grant",
  "unauthorized_client",
  "unsupported_grant_type",
  "invalid_scope",
  "invalid_target",
  "access_denied",
  "expired_token",
  "authorization_pending",
  "slow_down",
  "server_error",
  "temporarily_unavailable",
  "unsupported_response_type",
  "login_required",
  "consent_required",
  "interaction_required",
  "invalid_redirect_uri",
  "invalid_client_metadata",
]);
const PASSING: ReadonlySet<string> = new Set(["server_error", "temporarily_unavailable", "slow_down"]);

/** The refusal of a server, with the code that it names. */
export function refusalOf(code: string, isPassing = false): LoginFailure {
  const shown = CODES.has(code) ? code : "an error that OAuth does not know";
  const kind = isPassing || PASSING.has(code) ? "failed" : "refused";
  return new LoginFailure(kind, `the authorization server refuses: ${shown}`, null, CODES.has(code) ? code : "");
}

/** Whether a 401 means that the token was refused before any effect. */
export function isRefusedBefore(challenge: string): boolean {
  return /(?:^|,)\s*bearer\b/i.test(challenge);
}
