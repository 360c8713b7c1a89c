import { isIP } from "node:net";
import type { FastifyRequest } from "fastify";

/**
 * Whether a request comes from a page of another site. Browsers say where a request comes from; other clients say
 * nothing. That a page has the address by which it was asked is no proof where that is a name, as its owner may let it
 * mean this machine. `own` is an origin that is trusted besides.
 */
export function isForeign({ headers, host, hostname }: FastifyRequest, own?: string): boolean {
  const { origin } = headers;
  const site = headers["sec-fetch-site"];
  const isOwn =
    origin === undefined ||
    origin === own ||
    (origin === `http://${host}` && (hostname === "localhost" || isIP(hostname.replace(/^\[|\]$/g, "")) > 0));
  return !isOwn || !(site === undefined || site === "same-origin" || site === "none");
}
