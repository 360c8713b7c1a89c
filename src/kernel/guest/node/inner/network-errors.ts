import { failureIn, type NetworkFailure } from "../../network-failures.ts";
import { nodeError } from "./errors.ts";

/** Node's codes of failed requests, and the words of Node's `http`. */
const ERRORS: Readonly<Record<NetworkFailure, readonly [code: string, message: string]>> = {
  noName: ["ENOTFOUND", "getaddrinfo ENOTFOUND"],
  refused: ["ECONNREFUSED", "connect ECONNREFUSED"],
  noConnection: ["EHOSTUNREACH", "connect EHOSTUNREACH"],
  late: ["ETIMEDOUT", "connect ETIMEDOUT"],
  lost: ["ECONNRESET", "socket hang up"],
  certificate: ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", "unable to verify the certificate"],
};

/** The error of a failed `fetch` as `http` has it: programs try again by its code. Any other error is itself. */
export function networkError(error: unknown): unknown {
  const cause: unknown = error instanceof TypeError ? error.cause : undefined;
  const failure = cause instanceof Error ? failureIn(cause.message) : undefined;
  if (failure === undefined) return error;
  const [code, message] = ERRORS[failure];
  return Object.defineProperty(nodeError(Error, code, message), "cause", { value: cause, configurable: true });
}
