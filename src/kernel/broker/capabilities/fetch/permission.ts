import { CapabilityRefusal } from "../capability.ts";
import { type FetchGrant, fetchGrants } from "./grants.ts";
import { matchesUrl } from "./origin-pattern.ts";

/** Permissions and limits of a request. */
export interface RequestPermit {
  readonly isPrivate: boolean;
  readonly maxBytes: number;
  readonly maxRequests: number;
}

/** Decides on requests and counts their bytes. */
export interface RequestPermission {
  /** Counts a request and returns its permissions. Throws if it is not permitted. */
  admit(method: string, url: URL): RequestPermit;
  /** Counts bytes, and returns the number of them within the limit. */
  take(bytes: number, permit: RequestPermit): number;
  /** The error for bytes beyond the limit. */
  excess(method: string, url: URL, permit: RequestPermit): Error;
  /** The error for an address that is not public. */
  denyAddress(method: string, url: URL): Error;
  /** The error for a request with a secret that asks for a partial response. */
  denyPieces(method: string, url: URL, header: string): Error;
}

const SHOWN_MAX = 300;

/** The requests that a call may make, and its use of the limits. */
export class FetchPermission implements RequestPermission {
  readonly #grants: readonly FetchGrant[];
  #bytes = 0;
  #requests = 0;

  constructor(grants: readonly FetchGrant[]) {
    this.#grants = grants;
  }

  admit(method: string, url: URL): RequestPermit {
    const asked = describeRequest(method, url);
    const granting = this.#grants.filter(
      ({ origins, methods }) =>
        (methods === null || methods.includes(method)) && origins.some((pattern) => matchesUrl(pattern, url)),
    );
    if (granting.length === 0) throw this.#deny(`${asked} was not granted`, method, url);
    const maxRequests = Math.max(...granting.map((grant) => grant.maxRequests));
    if (++this.#requests > maxRequests) {
      throw new CapabilityRefusal("limit", `a call may make ${maxRequests} requests, redirects included`, {
        asked,
        granted: `maxRequests ${maxRequests}`,
        remedy: "raise fetch.maxRequests in the tool's capabilities, and in allow.fetch of a policy rule",
      });
    }
    return {
      isPrivate: granting.some(({ privateOrigins }) => privateOrigins.includes(url.origin)),
      maxBytes: Math.max(...granting.map((grant) => grant.maxBytes)),
      maxRequests,
    };
  }

  take(bytes: number, { maxBytes }: RequestPermit): number {
    const taken = Math.min(bytes, Math.max(0, maxBytes - this.#bytes));
    this.#bytes += taken;
    return taken;
  }

  excess(method: string, url: URL, { maxBytes }: RequestPermit): CapabilityRefusal {
    return new CapabilityRefusal("limit", `the requests and responses of a call exceed maxBytes ${maxBytes}`, {
      asked: describeRequest(method, url),
      granted: `maxBytes ${maxBytes}`,
      remedy: "raise fetch.maxBytes in the tool's capabilities, and in allow.fetch of a policy rule",
    });
  }

  denyAddress(method: string, url: URL): CapabilityRefusal {
    const message = `${url.origin} resolves to an address that is not public`;
    const remedy = `add "${url.origin}" to allow.fetch.privateOrigins of a policy rule`;
    return this.#refusal(message, method, url, remedy);
  }

  denyPieces(method: string, url: URL, header: string): CapabilityRefusal {
    const message = `the header "${header}" cannot be sent with a secret, because the secret could not be removed from such a response`;
    return this.#refusal(message, method, url, `leave the header "${header}" out of requests with secrets`);
  }

  #deny(message: string, method: string, url: URL): CapabilityRefusal {
    const add = `"${url.origin}" to fetch.origins and "${method}" to fetch.methods`;
    return this.#refusal(message, method, url, `add ${add}, in the tool's capabilities and in allow of a policy rule`);
  }

  #refusal(message: string, method: string, url: URL, remedy: string): CapabilityRefusal {
    const granted = this.#grants.map((grant) => fetchGrants.describe(grant)).join("; ");
    return new CapabilityRefusal("denied", message, { asked: describeRequest(method, url), granted, remedy });
  }
}

/** Describes a request without its query, which may hold personal data. */
function describeRequest(method: string, url: URL): string {
  return `${method} ${url.origin}${url.pathname}`.slice(0, SHOWN_MAX);
}
