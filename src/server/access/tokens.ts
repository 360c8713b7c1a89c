import { hash } from "node:crypto";
import { BoundedCache } from "../../kernel/base/bounded-cache.ts";
import type { Role } from "./caller.ts";
import { type Guest, Guests } from "./guests.ts";
import type { CallerGrant } from "./key-options.ts";
import { type OAuthOptions, type OAuthSettings, readOAuth } from "./oauth-options.ts";
import { type CheckToken, type Claims, openTokenCheck, UnavailableError } from "./token-checks.ts";

/** Result of the check of a token. */
export type TokenVerdict =
  | { readonly kind: "caller"; readonly caller: Guest }
  | { readonly kind: "invalid"; readonly reason: string }
  | { readonly kind: "unavailable"; readonly reason: string };

/** Maximum length of a token. */
const TOKEN_MAX = 8_192;
/** Maximum number of tokens with a cached verdict, of each kind. */
const KNOWN_MAX = 10_000;
/** Maximum number of tokens that are being checked, and of those from addresses that have sent many wrong ones. */
const PENDING_MAX = 256;
const SUSPECT_MAX = 16;
/** Time for which a valid token is not checked again: the authorization server may have revoked it, or its key. */
const VERIFIED_MS = 300_000;
const INTROSPECTED_MS = 60_000;
/** Time for which the verdict on an inactive token is cached. */
const INACTIVE_MS = 10_000;
const CLAIM_MAX = 256;

interface Known {
  readonly verdict: TokenVerdict;
  readonly untilMs: number;
}

/** Holders of tokens of an authorization server. Tokens themselves are not stored, only their hashes. */
export class Tokens {
  readonly settings: OAuthSettings;
  readonly #check: CheckToken;
  readonly #guests = new Guests();
  readonly #valid = new BoundedCache<Known>(KNOWN_MAX);
  readonly #invalid = new BoundedCache<Known>(KNOWN_MAX);
  readonly #pending = new Map<string, Promise<TokenVerdict>>();
  #suspects = 0;

  /** Rejects with a `TypeError` if an option is wrong, and with a `GloveboxError` if a package is missing. */
  static async open(options: OAuthOptions, publicUrl: string | undefined, environment = process.env): Promise<Tokens> {
    const settings = readOAuth(options, publicUrl, environment);
    return new Tokens(settings, await openTokenCheck(settings));
  }

  private constructor(settings: OAuthSettings, check: CheckToken) {
    this.settings = settings;
    this.#check = check;
  }

  /** The holder of a token that was checked a short time ago. */
  known(token: string): Guest | null {
    const verdict = recall(this.#valid, digestOf(token));
    return verdict?.kind === "caller" ? verdict.caller : null;
  }

  /**
   * Checks a token. Never rejects because of one. `isSuspect`: its sender has sent many wrong ones, and has to leave room
   * for others.
   */
  async check(token: string, isSuspect = false): Promise<TokenVerdict> {
    if (token.length > TOKEN_MAX) return { kind: "invalid", reason: `the token has more than ${TOKEN_MAX} characters` };
    const digest = digestOf(token);
    const known = recall(this.#valid, digest) ?? recall(this.#invalid, digest) ?? this.#pending.get(digest);
    if (known !== undefined) return known;
    if (this.#pending.size >= PENDING_MAX || (isSuspect && this.#suspects >= SUSPECT_MAX))
      return { kind: "unavailable", reason: "too many tokens are being checked" };
    if (isSuspect) this.#suspects += 1;
    const checking = this.#judge(token, digest).finally(() => {
      this.#pending.delete(digest);
      if (isSuspect) this.#suspects -= 1;
    });
    this.#pending.set(digest, checking);
    return checking;
  }

  async #judge(token: string, digest: string): Promise<TokenVerdict> {
    const isIntrospected = this.settings.introspection !== undefined;
    let claims: Claims | string;
    try {
      claims = await this.#check(token);
    } catch (error) {
      if (error instanceof UnavailableError) return { kind: "unavailable", reason: error.message };
      throw error;
    }
    const grant = typeof claims === "string" ? claims : grantOf(claims, this.settings);
    if (typeof grant === "string") {
      const verdict = { kind: "invalid", reason: grant } as const;
      // Only asking costs more than remembering.
      if (isIntrospected) this.#invalid.set(digest, { verdict, untilMs: Date.now() + INACTIVE_MS });
      return verdict;
    }
    const exp = typeof claims === "string" ? undefined : claims["exp"];
    const expiresMs = typeof exp === "number" ? exp * 1_000 : Number.POSITIVE_INFINITY;
    const verdict = { kind: "caller", caller: this.#guests.admit(grant, expiresMs) } as const;
    const untilMs = Math.min(expiresMs, Date.now() + (isIntrospected ? INTROSPECTED_MS : VERIFIED_MS));
    this.#valid.set(digest, { verdict, untilMs });
    return verdict;
  }
}

function digestOf(token: string): string {
  return hash("sha256", token, "base64url");
}

function recall(known: BoundedCache<Known>, digest: string): TokenVerdict | undefined {
  const found = known.get(digest);
  if (found === undefined || found.untilMs > Date.now()) return found?.verdict;
  known.delete(digest);
  return undefined;
}

/** Permissions of the holder of a token, by the operator's rules for claims; or the reason for a refusal. */
function grantOf(claims: Claims, settings: OAuthSettings): CallerGrant | string {
  const { scopes, tenantClaim, tools, limits, quota, rate } = settings;
  const name = claims["sub"] ?? claims["client_id"];
  if (!isShort(name)) return `the token names nobody in "sub", in 1 to ${CLAIM_MAX} characters`;
  const tenant = tenantClaim === undefined ? settings.tenant : claims[tenantClaim];
  if (tenantClaim !== undefined && !isShort(tenant))
    return `the token names no tenant in "${tenantClaim}", in 1 to ${CLAIM_MAX} characters`;
  const roles = new Set<Role>();
  for (const scope of scopesIn(claims)) {
    if (Object.hasOwn(scopes, scope)) for (const role of scopes[scope] ?? []) roles.add(role);
  }
  return {
    name,
    tenant: tenant as string,
    roles: [...roles].toSorted(),
    ...(tools === undefined ? {} : { tools }),
    ...(limits === undefined ? {} : { limits }),
    ...(quota === undefined ? {} : { quota }),
    ...(rate === undefined ? {} : { rate }),
  };
}

function isShort(value: unknown): value is string {
  return typeof value === "string" && value.length > 0 && value.length <= CLAIM_MAX;
}

/** Scopes of a token: `scope` of RFC 8693, or `scp` of some authorization servers. */
function scopesIn({ scope, scp }: Claims): readonly string[] {
  const said = scope ?? scp;
  if (typeof said === "string") return said.split(" ");
  return Array.isArray(said) ? said.filter((one): one is string => typeof one === "string") : [];
}
