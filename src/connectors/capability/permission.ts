import { CapabilityRefusal } from "../../kernel/broker/capabilities/capability.ts";
import { FetchFailure } from "../../kernel/broker/capabilities/fetch/failure.ts";
import {
  matchesUrl,
  type OriginPattern,
  readOriginPattern,
} from "../../kernel/broker/capabilities/fetch/origin-pattern.ts";
import type { RequestPermission, RequestPermit } from "../../kernel/broker/capabilities/fetch/permission.ts";

/** Bytes of one request and its answer. */
const BYTES_MAX = 8 * 1024 * 1024;
const HOPS_MAX = 8;

/**
 * Pattern of URLs below that of a connector's server, without a path that a server may read as a step up; `null` for an
 * unsuitable URL.
 */
export function patternBelow(server: string): OriginPattern | null {
  const pattern = readOriginPattern(server);
  if (pattern === null || pattern.protocol === null || pattern.isWild) return null;
  return pattern.path === "" ? { ...pattern, path: "/" } : pattern;
}

/** Permission of one request of a connector, with its redirects. */
export class ConnectorPermission implements RequestPermission {
  readonly #pattern: OriginPattern;
  readonly #isPrivate: boolean;
  #bytes = 0;
  #hops = 0;

  constructor(pattern: OriginPattern, isPrivate: boolean) {
    this.#pattern = pattern;
    this.#isPrivate = isPrivate;
  }

  admit(_method: string, url: URL): RequestPermit {
    if (!matchesUrl(this.#pattern, url)) {
      const problem =
        this.#hops === 0 ? "the request is not below" : "the server redirects to a place that is not below";
      throw new FetchFailure(`${problem} the connector's URL`);
    }
    if (++this.#hops > HOPS_MAX) throw new FetchFailure(`the server redirects more than ${HOPS_MAX - 1} times`);
    return { isPrivate: this.#isPrivate, maxBytes: BYTES_MAX, maxRequests: HOPS_MAX };
  }

  take(bytes: number): number {
    const taken = Math.min(bytes, BYTES_MAX - this.#bytes);
    this.#bytes += taken;
    return taken;
  }

  excess(): Error {
    return new FetchFailure(`the request and its answer have more than ${BYTES_MAX} bytes`);
  }

  denyAddress(method: string, url: URL): CapabilityRefusal {
    return new CapabilityRefusal("denied", "the connector's server has an address that is not public", {
      asked: `${method} ${url.origin}`,
      granted: "servers with public addresses",
      remedy: "set private: true of the connector",
    });
  }

  denyPieces(_method: string, _url: URL, header: string): CapabilityRefusal | Error {
    return new FetchFailure(`the header "${header}" cannot be sent with a secret`);
  }
}
