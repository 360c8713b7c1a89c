import { errnoOf } from "../../../kernel/base/errno.ts";
import type * as Sdk from "@modelcontextprotocol/client";
import { CapabilityRefusal } from "../../../kernel/broker/capabilities/capability.ts";
import { PrivateAddressError } from "../../../kernel/broker/capabilities/fetch/connections.ts";
import { failureOf, FetchFailure } from "../../../kernel/broker/capabilities/fetch/failure.ts";
import { type Clean, failed, McpError, type McpFailure, shownWords } from "./failure.ts";

/** A request that failed, as the libraries report it. */
export class Failures {
  readonly #sdk: typeof Sdk;
  /** Names the origin in failures of connections. */
  readonly #url: URL | null;
  readonly #clean: Clean;

  constructor(sdk: typeof Sdk, url: URL | null, clean: Clean) {
    this.#clean = clean;
    this.#sdk = sdk;
    this.#url = url;
  }

  /** `timeoutMs`: the time that the request had. */
  of(error: unknown, timeoutMs: number): McpFailure {
    if (error instanceof McpError) return error.failure;
    const { SdkHttpError, SdkError, SdkErrorCode, ProtocolError, UnauthorizedError } = this.#sdk;
    const isOfStart = error instanceof SdkError && error.code === SdkErrorCode.EraNegotiationFailed;
    if (isOfStart && error.cause !== undefined) return this.of(error.cause, timeoutMs);
    const fromNetwork = error instanceof SdkError ? null : this.#ofNetwork(error);
    if (fromNetwork !== null) return fromNetwork;
    if (error instanceof UnauthorizedError) return ofStatus(401);
    if (error instanceof SdkHttpError) return ofStatus(error.status ?? 0);
    if (error instanceof ProtocolError) return this.#ofProtocol(error);
    if (error instanceof SdkError) return this.#ofSdk(error, timeoutMs);
    return failed("it sent something that is not MCP", { isTransient: false });
  }

  #ofNetwork(error: unknown): McpFailure | null {
    const url = this.#url;
    if (url === null) return null;
    if (error instanceof PrivateAddressError) {
      const remedy = "name the address in the connector's url, or set private: true in its mcp";
      return failed(`${url.origin} resolves to an address that is not public; ${remedy}`, {
        isTransient: false,
        isSent: false,
      });
    }
    if (error instanceof CapabilityRefusal) return failed(error.message, { isTransient: false, isSent: false });
    const code = errnoOf(error) ?? "";
    const isOurs = error instanceof FetchFailure || isSystem(code);
    if (!isOurs && !(error instanceof Error && error.name === "HTTPParserError")) return null;
    return failed(failureOf(error, "POST", url).message, { isSent: !NEVER_SENT.has(code) });
  }

  #ofProtocol({ code, message }: Sdk.ProtocolError): McpFailure {
    const words = shownWords(this.#clean(message));
    return failed(`it answered with error ${code}${words === "" ? "" : `: ${words}`}`, { isTransient: false });
  }

  #ofSdk(error: Sdk.SdkError, timeoutMs: number): McpFailure {
    const { SdkErrorCode } = this.#sdk;
    switch (error.code) {
      case SdkErrorCode.RequestTimeout:
        return failed(`it did not answer within ${timeoutMs} ms`);
      case SdkErrorCode.ConnectionClosed:
        return failed("the connection ended before it answered");
      case SdkErrorCode.NotConnected:
      case SdkErrorCode.SendFailed:
        return failed("the connection has ended", { isSent: false });
      case SdkErrorCode.UnsupportedResultType:
      case SdkErrorCode.InputRequiredRoundsExceeded:
        return failed("it asks for input of a person, which calls do not give", { isTransient: false });
      case SdkErrorCode.InvalidResult:
        return failed("its answer is not a result of a tool", { isTransient: false });
      case SdkErrorCode.EraNegotiationFailed:
        return failed(`no protocol revision was agreed on: ${shownWords(this.#clean(error.message))}`, {
          isSent: false,
        });
      default:
        return failed(`it cannot be used: ${shownWords(this.#clean(error.message))}`, { isTransient: false });
    }
  }
}

function ofStatus(status: number): McpFailure {
  switch (status) {
    case 401:
    case 403:
      return failed(`it refuses the connector's credentials (HTTP ${status})`, { isTransient: false, isSent: false });
    case 404:
      return failed("it has no MCP endpoint at this URL, or has forgotten the session (HTTP 404)", { isSent: false });
    default:
      return failed(`it answered with HTTP ${status}`, { isTransient: status >= 500 });
  }
}

/** Codes of requests that no server has received. */
const NEVER_SENT: ReadonlySet<string> = new Set([
  "ENOTFOUND",
  "EAI_AGAIN",
  "ECONNREFUSED",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "EADDRNOTAVAIL",
  "UND_ERR_CONNECT_TIMEOUT",
]);

function isSystem(code: string): boolean {
  return /^(?:E[A-Z_]+|UND_ERR_|Z_|CERT_|DEPTH_|SELF_|UNABLE_)/.test(code);
}
