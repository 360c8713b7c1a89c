import { nodeError } from "./errors.ts";

/** What the host says of a request that failed: Node's code for it, and the words of Node's `http`. */
const CODES = [
  ["the host name could not be resolved", "ENOTFOUND", "getaddrinfo ENOTFOUND"],
  ["the connection was refused", "ECONNREFUSED", "connect ECONNREFUSED"],
  ["no connection could be made", "EHOSTUNREACH", "connect EHOSTUNREACH"],
  ["the connection timed out", "ETIMEDOUT", "connect ETIMEDOUT"],
  ["the connection was lost", "ECONNRESET", "socket hang up"],
  ["the server's certificate is not trusted", "UNABLE_TO_VERIFY_LEAF_SIGNATURE", "unable to verify the certificate"],
] as const;

/** The error of a failed `fetch` as `http` has it: programs try again by its code. Any other error is itself. */
export function networkError(error: unknown): unknown {
  const cause: unknown = error instanceof TypeError ? error.cause : undefined;
  if (!(cause instanceof Error)) return error;
  const found = CODES.find(([words]) => cause.message.endsWith(words));
  if (found === undefined) return error;
  const [, code, message] = found;
  return Object.defineProperty(nodeError(Error, code, message), "cause", { value: cause, configurable: true });
}
