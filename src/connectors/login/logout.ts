import { valueIn } from "../../kernel/base/deadline.ts";
import { messageOf } from "../../kernel/broker/method-call.ts";
import type { LoginStore } from "../store/login-store.ts";
import type { AuthorizationServer } from "./authorization-server.ts";
import { type KeptLogin, readLogin } from "./kept-login.ts";
import { keyOfLogin } from "./settings.ts";

/** The result of a logout. */
export type EndedLogin =
  | { readonly kind: "none" }
  | { readonly kind: "revoked" }
  /** The login is forgotten here, and its tokens may be valid at the authorization server until they end. */
  | { readonly kind: "forgotten"; readonly reason: string };

/** Longest time for the requests of a logout. */
const REVOKE_MS = 15_000;

/**
 * Forgets a login, and revokes its tokens at the authorization server. The login is gone first: a server that is down
 * keeps nobody logged in here.
 */
export async function logOut(server: AuthorizationServer, store: LoginStore, tenant: string): Promise<EndedLogin> {
  const key = keyOfLogin(server.settings, tenant);
  // A login that cannot be opened can be removed.
  const stored = await store.read(key).catch(() => null);
  if (!(await store.remove(key))) return { kind: "none" };
  const kept = stored === null ? null : readLogin(stored.text, server.settings);
  if (kept === null) return { kind: "forgotten", reason: "the stored login is of another key, server or client" };
  const revoking = revoke(server, kept).catch(messageOf);
  const reason = await valueIn(REVOKE_MS, revoking);
  if (reason === null) return { kind: "revoked" };
  return { kind: "forgotten", reason: reason ?? `the authorization server has not answered within ${REVOKE_MS} ms` };
}

/** The reason why a token may still be valid; `null` if none is. */
async function revoke(server: AuthorizationServer, kept: KeptLogin): Promise<string | null> {
  const { refreshToken, accessToken, origin } = kept;
  const known = kept.client ?? { clientId: server.settings.clientId ?? "", clientSecret: null };
  // The refresh token first: with it, a server revokes the others of the login.
  for (const token of [refreshToken, accessToken]) {
    if (token === null || (await server.revoke(known, token, origin))) continue;
    return token === refreshToken
      ? "the authorization server offers no revocation of its tokens"
      : "the authorization server revokes no access tokens";
  }
  return null;
}
