/** Errors of the protocol's transport, whose numbers its implementations agree on. */
export const RPC = { PARSE: -32_700, INTERNAL: -32_603, REFUSED: -32_000, NO_SESSION: -32_001 } as const;

/** An error that belongs to no request, as a message of the protocol. */
export function rpcError(code: number, message: string): { readonly jsonrpc: "2.0"; readonly error: object; id: null } {
  return { jsonrpc: "2.0", error: { code, message }, id: null };
}
