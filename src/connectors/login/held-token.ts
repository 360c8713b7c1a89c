/** An access token. `version`: that of the stored login. */
export interface AccessToken {
  readonly value: string;
  readonly version: number;
}

/** An access token that this process uses, with its times by `performance.now`. */
export interface HeldToken extends AccessToken {
  readonly renewAtMs: number;
  readonly endsMs: number;
}

/** A token is renewed this long before it ends, or when half of its life is over. */
export const EARLY_MS = 60_000;
/** A new token is used for this long, whatever its server says of its life. */
export const USED_MS = 250;

/** By the monotonic clock of this process: a clock that is set does not end a token. */
export function heldToken(
  value: string,
  version: number,
  { sinceMs, lifeMs }: { readonly sinceMs: number; readonly lifeMs: number | null },
): HeldToken {
  if (lifeMs === null) return { value, version, renewAtMs: Number.POSITIVE_INFINITY, endsMs: Number.POSITIVE_INFINITY };
  const endsMs = Math.max(sinceMs + lifeMs, performance.now() + USED_MS);
  return { value, version, endsMs, renewAtMs: endsMs - Math.min(EARLY_MS, lifeMs / 2) };
}
