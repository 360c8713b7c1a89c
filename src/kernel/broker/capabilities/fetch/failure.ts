import { errnoOf } from "../../../base/errno.ts";
import { NETWORK_FAILURES } from "../../../guest/host.ts";
import { CapabilityRefusal } from "../capability.ts";

/** A failed request, with a message for the tool's author. */
export class FetchFailure extends Error {
  override readonly name = "FetchFailure";
}

const { noName, refused, noConnection, late, lost, certificate } = NETWORK_FAILURES;
const ENCODING = "the body does not match its content-encoding header";
const WRONG = "the response is not valid HTTP";

const WORDS: ReadonlyMap<string, string> = new Map([
  ["ENOTFOUND", noName],
  ["EAI_AGAIN", noName],
  ["ECONNREFUSED", refused],
  ["EHOSTUNREACH", noConnection],
  ["ENETUNREACH", noConnection],
  ["EADDRNOTAVAIL", noConnection],
  ["ETIMEDOUT", late],
  ["UND_ERR_CONNECT_TIMEOUT", late],
  ["UND_ERR_HEADERS_TIMEOUT", "the server did not respond in time"],
  ["UND_ERR_BODY_TIMEOUT", "the response body did not continue in time"],
  ["UND_ERR_HEADERS_OVERFLOW", "the response headers are too large"],
  ["UND_ERR_RES_CONTENT_LENGTH_MISMATCH", "the response length does not match its headers"],
  ["UND_ERR_SOCKET", lost],
  ["ECONNRESET", lost],
  ["EPIPE", lost],
  ["ERR_STREAM_PREMATURE_CLOSE", lost],
  ["Z_DATA_ERROR", ENCODING],
  ["Z_BUF_ERROR", ENCODING],
  ["DEPTH_ZERO_SELF_SIGNED_CERT", certificate],
  ["SELF_SIGNED_CERT_IN_CHAIN", certificate],
  ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", certificate],
  ["UNABLE_TO_GET_ISSUER_CERT_LOCALLY", certificate],
  ["CERT_HAS_EXPIRED", certificate],
  ["ERR_TLS_CERT_ALTNAME_INVALID", certificate],
]);

/**
 * Converts an error for the tool. Errors of libraries contain addresses and parts of responses, so only their kind is
 * kept. The message contains no path, because paths are removed from messages as if they were the host's.
 */
export function failureOf(error: unknown, method: string, url: URL): Error {
  if (error instanceof CapabilityRefusal) return error;
  return new FetchFailure(`${method} ${url.origin}: ${wordsOf(error)}`);
}

function wordsOf(error: unknown): string {
  if (error instanceof FetchFailure) return error.message;
  const code = errnoOf(error) ?? "";
  const words = WORDS.get(code);
  if (words !== undefined) return words;
  if (error instanceof Error && error.name === "HTTPParserError") return WRONG;
  if (code.startsWith("ERR_SSL_") || code === "EPROTO") return "the TLS handshake failed";
  return /^(?:ERR__?(?:ERROR|BROTLI|PADDING|UNREACHABLE)|ZSTD_)/.test(code) ? ENCODING : "the request failed";
}
