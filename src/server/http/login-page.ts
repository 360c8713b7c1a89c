/** Pages that a browser shows when a person was sent back from an authorization server. */
const HEADERS = {
  "content-type": "text/plain; charset=utf-8",
  "cache-control": "no-store",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
} as const;

export interface LoginPage {
  readonly headers: typeof HEADERS;
  readonly text: string;
}

export const LOGGED_IN: LoginPage = { headers: HEADERS, text: "Logged in. You can close this window.\n" };

/** `reason`: without secrets, as `LoginFailure` has it. */
export function notLoggedIn(reason: string): LoginPage {
  return { headers: HEADERS, text: `The login has failed: ${reason}.\n` };
}
