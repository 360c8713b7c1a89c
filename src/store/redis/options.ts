import { readRedisUrl } from "./place.ts";
import { SECRET_LEAST, SECRET_MOST } from "./seal.ts";

export const FLEET_DEFAULT = "default";
/** What may be part of a key's name in Redis. */
const FLEET_NAME = /^[A-Za-z0-9._-]{1,64}$/;

/** Checks an option that says where a Redis is. Throws a `TypeError` that shows nothing of it: it may hold a password. */
export function resolveRedisUrl(option: string, url: unknown): string {
  if (typeof url !== "string") throw new TypeError(`${option}: it is no text`);
  try {
    readRedisUrl(url);
  } catch (error) {
    throw new TypeError(`${option}: ${error instanceof Error ? error.message : "it cannot be read"}`, { cause: error });
  }
  return url;
}

/** Decides by which name those are known who have something in common in a Redis. Throws a `TypeError` where it is none. */
export function resolveFleetName(option: string, name: unknown = FLEET_DEFAULT): string {
  if (typeof name !== "string" || !FLEET_NAME.test(name))
    throw new TypeError(`${option}: the name of a fleet has 1 to 64 of A-Z, a-z, 0-9, dot, dash and underscore`);
  return name;
}

/** Checks what they seal with, where they do. Throws a `RangeError` that does not show it. */
export function resolveSecret(option: string, secret: unknown): string | undefined {
  if (secret === undefined) return undefined;
  if (typeof secret !== "string" || secret.length < SECRET_LEAST || secret.length > SECRET_MOST)
    throw new RangeError(`${option} has ${SECRET_LEAST} to ${SECRET_MOST} characters`);
  return secret;
}
