import { reasonOfFetch } from "../../kernel/base/errno.ts";
import { importOptional } from "../../kernel/base/optional-package.ts";
import { isObject } from "../../kernel/base/json.ts";
import type { OAuthSettings } from "./oauth-options.ts";

/** Claims of a valid token. */
export interface Claims {
  readonly [name: string]: unknown;
}

/** Checks a token. Resolves with its claims, or with the reason why it is invalid. */
export type CheckToken = (token: string) => Promise<Claims | string>;

/** The authorization server cannot be reached, so that the validity of a token is unknown. */
export class UnavailableError extends Error {
  override readonly name = "UnavailableError";
}

/** Maximum time of a request to the authorization server, and size of its response. */
const DEADLINE_MS = 5_000;
const KEYS_MAX_BYTES = 256 * 1024;
const INTROSPECTION_MAX_BYTES = 64 * 1024;
/** Age after which keys are fetched again, and the minimum time between two fetches, for any keys that tokens name. */
const KEYS_AGE_MS = 600_000;
const KEYS_COOLDOWN_MS = 30_000;
/** Time without another fetch after a failed one. */
const FAILED_COOLDOWN_MS = 5_000;
/** Maximum difference between the clocks of both servers. */
const CLOCK_SECONDS = 5;

/** Loads the library that checks tokens. Rejects with a `GloveboxError`, `missing_package`, if it is not installed. */
export function openTokenCheck(settings: OAuthSettings): Promise<CheckToken> {
  const { jwksUri, introspection, clientSecret } = settings;
  if (jwksUri !== undefined) return openJwtCheck(settings, new URL(jwksUri));
  if (introspection === undefined || clientSecret === null) throw new TypeError("nothing says how tokens are checked");
  // RFC 6749, section 2.3.1.
  const credentials = [introspection.clientId, clientSecret].map((part) => encodeURIComponent(part)).join(":");
  const authorization = `Basic ${Buffer.from(credentials).toString("base64")}`;
  return Promise.resolve((token) => introspect(settings, introspection.url, { authorization, token }));
}

async function openJwtCheck(settings: OAuthSettings, jwksUri: URL): Promise<CheckToken> {
  const { issuer, audience, algorithms } = settings;
  const { createRemoteJWKSet, customFetch, errors, jwtVerify } = await importOptional(
    "oauth.jwksUri",
    ["jose"],
    () => import("jose"),
  );
  const keys = createRemoteJWKSet(jwksUri, {
    cacheMaxAge: KEYS_AGE_MS,
    cooldownDuration: KEYS_COOLDOWN_MS,
    timeoutDuration: DEADLINE_MS,
    [customFetch]: coolingDown((url, init) => fetchBounded(url, init, KEYS_MAX_BYTES)),
  });
  const options = {
    issuer,
    audience: [...audience],
    algorithms: [...algorithms],
    clockTolerance: CLOCK_SECONDS,
    requiredClaims: ["exp"],
  };
  return async (token) => {
    try {
      return (await jwtVerify(token, keys, options)).payload;
    } catch (error) {
      if (error instanceof errors.JWKSTimeout || error instanceof errors.JWKSInvalid)
        throw new UnavailableError("the keys of the authorization server could not be read", { cause: error });
      if (error instanceof errors.JWTExpired) return "the token has expired";
      if (error instanceof errors.JWTClaimValidationFailed)
        return `the token's claim "${error.claim}" is not what this server asks for`;
      if (error instanceof errors.JOSEError) return "the token is not one that the authorization server has signed";
      throw error;
    }
  };
}

async function introspect(
  { issuer, audience }: OAuthSettings,
  url: string,
  { authorization, token }: { readonly authorization: string; readonly token: string },
): Promise<Claims | string> {
  const response = await fetchBounded(
    url,
    {
      method: "POST",
      body: new URLSearchParams({ token, token_type_hint: "access_token" }).toString(),
      headers: { authorization, accept: "application/json", "content-type": "application/x-www-form-urlencoded" },
      signal: AbortSignal.timeout(DEADLINE_MS),
    },
    INTROSPECTION_MAX_BYTES,
  );
  const said: unknown = await response.json().catch(() => null);
  if (!isObject(said) || typeof said["active"] !== "boolean")
    throw new UnavailableError("the authorization server's answer about a token could not be read");
  const { active, iss, aud, exp } = said;
  if (!active) return "the token is not active";
  if (iss !== undefined && iss !== issuer) return 'the token\'s claim "iss" is not what this server asks for';
  if (!(Array.isArray(aud) ? aud : [aud]).some((one) => typeof one === "string" && audience.includes(one)))
    return 'the token\'s claim "aud" is not what this server asks for';
  if (typeof exp === "number" && exp * 1_000 <= Date.now()) return "the token has expired";
  return said;
}

type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** Suspends fetches for a while after a failure: otherwise each request with any token would cause another one. */
function coolingDown(fetchOnce: Fetch): Fetch {
  let failedMs = Number.NEGATIVE_INFINITY;
  return async (url, init) => {
    if (performance.now() < failedMs + FAILED_COOLDOWN_MS)
      throw new UnavailableError("the authorization server could not be reached a moment ago");
    try {
      return await fetchOnce(url, init);
    } catch (error) {
      failedMs = performance.now();
      throw error;
    }
  };
}

/** Fetches a short text. Follows no redirects, as only the operator configures the addresses of keys. */
async function fetchBounded(url: string, init: RequestInit, maxBytes: number): Promise<Response> {
  try {
    const response = await fetch(url, { ...init, redirect: "manual" });
    const chunks: Uint8Array[] = [];
    let length = 0;
    for await (const chunk of response.body ?? []) {
      length += chunk.length;
      if (length > maxBytes) throw new RangeError(`the response has more than ${maxBytes} bytes`);
      chunks.push(chunk);
    }
    if (response.status !== 200) throw new TypeError(`the response's status is ${response.status}`);
    return new Response(Buffer.concat(chunks));
  } catch (error) {
    throw new UnavailableError(`the authorization server cannot be asked: ${reasonOfFetch(error)}`, { cause: error });
  }
}
