import { createHash } from "node:crypto";
import { isObject } from "../../kernel/base/json.ts";
import type { KnownClient, TokenAnswer } from "./authorization-server.ts";
import { identityOf, type LoginSettings } from "./settings.ts";

/** The stored form of a login: JSON, sealed. */
export interface KeptLogin {
  /** Digest of its server, client and resource: see `identityOf`. */
  readonly identity: string;
  readonly accessToken: string | null;
  readonly refreshToken: string | null;
  /** By the clock of the machine that wrote it, in milliseconds. */
  readonly obtainedMs: number;
  readonly lifeMs: number | null;
  /** Origin of the token endpoint that gave the tokens: they are sent to no other. */
  readonly origin: string;
  /** Digest of the first refresh token of the options, from which it comes. */
  readonly seed: string | null;
  /** A client that was registered with the login. */
  readonly client: KnownClient | null;
  /** The reason why the server refuses it; `null` for a login that works. */
  readonly refused: string | null;
}

export function writeLogin(login: KeptLogin): string {
  return JSON.stringify(login);
}

/** `null` if the text is for another client, server or version. */
export function readLogin(text: string, settings: LoginSettings): KeptLogin | null {
  const login: unknown = JSON.parse(text);
  if (!isObject(login) || login["identity"] !== identityOf(settings)) return null;
  return login as unknown as KeptLogin;
}

export function seedOf(token: string): string {
  return createHash("sha256").update(`glovebox seed ${token}`).digest("hex");
}

/** A login after an answer of the token endpoint. If the server gives no new refresh token, the old one stays. */
export function renewedLogin(
  settings: LoginSettings,
  answer: TokenAnswer,
  { origin, refreshToken, seed, client }: Pick<KeptLogin, "origin" | "refreshToken" | "seed" | "client">,
): KeptLogin {
  return {
    identity: identityOf(settings),
    accessToken: answer.accessToken,
    refreshToken: answer.refreshToken ?? refreshToken,
    obtainedMs: Date.now(),
    lifeMs: answer.lifeMs,
    origin,
    seed,
    client,
    refused: null,
  };
}

/**
 * Remaining time of a stored access token, by this machine's clock; `null` if it is unknown. A token from the future
 * was written by another clock, and counts as expired.
 */
export function leftMsOf({ obtainedMs, lifeMs, accessToken }: KeptLogin, nowMs = Date.now()): number | null {
  if (accessToken === null || obtainedMs > nowMs + FUTURE_MS) return 0;
  return lifeMs === null ? null : Math.max(0, obtainedMs + lifeMs - nowMs);
}

const FUTURE_MS = 5_000;
