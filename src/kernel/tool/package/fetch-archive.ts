import type { Connections } from "../../broker/capabilities/fetch/connections.ts";
import { PrivateAddressError } from "../../broker/capabilities/fetch/connections.ts";
import { boundedPieces } from "../../broker/capabilities/fetch/decoding.ts";
import { failureOf, FetchFailure } from "../../broker/capabilities/fetch/failure.ts";
import { matchesUrl } from "../../broker/capabilities/fetch/origin-pattern.ts";
import {
  type RequestHop,
  isRedirect,
  nextHop,
  readTarget,
  REDIRECTS_MAX,
} from "../../broker/capabilities/fetch/redirect.ts";
import type { ResolvedPackageOptions } from "./options.ts";
import { PackageError, shownUrl } from "./step.ts";

const DEADLINE_MS = 60_000;
const HEADERS = { accept: "*/*", "accept-encoding": "identity" };

/**
 * Downloads an archive. Each redirect and the address of each connection are checked again. Rejects with a
 * `PackageError` whose message never contains the URL's query.
 */
export async function fetchArchive(
  target: URL,
  options: ResolvedPackageOptions,
  connections: Connections,
): Promise<Buffer> {
  const signal = AbortSignal.timeout(DEADLINE_MS);
  let hop: RequestHop = { url: target, method: "GET", headers: [], body: null, hasLeftOrigin: false };
  try {
    hop = { ...hop, url: readTarget(target.href) };
    for (let redirects = 0; redirects <= REDIRECTS_MAX; redirects++) {
      const answer = await request(hop.url, options, connections, signal);
      if (Buffer.isBuffer(answer)) return answer;
      hop = nextHop(hop, answer.status, answer.location);
    }
    throw new PackageError(`the server redirects more than ${REDIRECTS_MAX} times`);
  } catch (error) {
    throw failed(error, hop.url, signal);
  }
}

async function request(
  url: URL,
  { origins, privateOrigins, maxBytes }: ResolvedPackageOptions,
  connections: Connections,
  signal: AbortSignal,
): Promise<Buffer | { readonly status: number; readonly location: string }> {
  const isPrivate = privateOrigins.has(url.origin);
  const isAllowed = isPrivate || (url.protocol === "https:" && origins.some((pattern) => matchesUrl(pattern, url)));
  if (!isAllowed) {
    throw new PackageError(
      `${shownUrl(url)} is not where packages may come from; the operator can add it to packages.origins`,
    );
  }
  const agent = await connections.agent(isPrivate);
  const { origin, pathname, search } = url;
  const { statusCode, headers, body } = await agent.request({
    origin,
    path: pathname + search,
    method: "GET",
    headers: HEADERS,
    signal,
  });
  try {
    const { location, "content-length": length } = headers;
    if (isRedirect(statusCode)) {
      if (typeof location !== "string") throw new PackageError(`${shownUrl(url)} redirects without a location`);
      return { status: statusCode, location };
    }
    if (statusCode !== 200) throw new PackageError(`${shownUrl(url)} responded with status ${statusCode}`);
    if (Number(length ?? 0) > maxBytes) throw tooLarge(url, maxBytes);
    return Buffer.concat(await Array.fromAsync(boundedPieces(body, maxBytes, () => tooLarge(url, maxBytes))));
  } finally {
    // An unread body would hold its connection.
    body.on("error", () => {}).destroy();
  }
}

function failed(error: unknown, url: URL, signal: AbortSignal): unknown {
  if (error instanceof PackageError) return error;
  if (signal.aborted) return new PackageError(`${shownUrl(url)} could not be downloaded within ${DEADLINE_MS} ms`);
  if (error instanceof PrivateAddressError) {
    const advice = `the operator can add "${url.origin}" to packages.privateOrigins`;
    return new PackageError(`${url.origin} resolves to an address that is not public; ${advice}`);
  }
  if (error instanceof FetchFailure) return new PackageError(error.message);
  return new PackageError(failureOf(error, "GET", url).message);
}

function tooLarge(url: URL, maxBytes: number): PackageError {
  return new PackageError(`${shownUrl(url)} is larger than ${maxBytes} bytes`);
}
