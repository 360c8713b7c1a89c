import type { FastifyRequest } from "fastify";
import type { Caller } from "../../access/caller.ts";

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

/**
 * Why a request may come from a page of another site, without anybody's doing; `null` where it does not. A page may ask
 * of its own site alone. Where no keys are asked for, that site has a name that only this machine has, because others
 * may have been given this machine's address for the purpose.
 */
export function describeForeign({ headers }: FastifyRequest, caller: Caller): string | null {
  const { host = "", origin } = headers;
  if (origin !== undefined && URL.parse(origin)?.host !== host.toLowerCase())
    return "the request is a page's of another site";
  const name = URL.parse(`http://${host}`)?.hostname ?? "";
  return caller.key !== null || LOOPBACK.test(name) ? null : "the request is for a host of another name";
}
