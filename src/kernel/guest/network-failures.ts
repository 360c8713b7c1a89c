/**
 * The host's texts about failed requests. The broker sends them, and `node:http` of isolates gives them Node's codes.
 */
export const NETWORK_FAILURES = {
  noName: "the host name could not be resolved",
  refused: "the connection was refused",
  noConnection: "no connection could be made",
  late: "the connection timed out",
  lost: "the connection was lost",
  certificate: "the server's certificate is not trusted",
} as const;

/** Kinds of failed requests that have words of their own. */
export type NetworkFailure = keyof typeof NETWORK_FAILURES;

/** The kind of failure that a message ends with. */
export function failureIn(message: string): NetworkFailure | undefined {
  const kinds = Object.keys(NETWORK_FAILURES) as NetworkFailure[];
  return kinds.find((kind) => message.endsWith(NETWORK_FAILURES[kind]));
}
