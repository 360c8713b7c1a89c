/**
 * Data with which another process can record the end of a call with an idempotency key, in place of the call's server.
 */
export interface LedgerClaim {
  /** Digest of the call's key in the ledger, in hexadecimal digits. */
  readonly digest: string;
  /** Holder of the call under this claim; a later claim has another holder, even in the same process. */
  readonly holder: string;
  /** The tool's mark, sealed with the ledger's secret: unreadable without the secret. */
  readonly tool: string;
}

/** The identity of a tool for the ledger. */
export interface ToolFingerprint {
  /** Equal for equal tools, on every server. */
  readonly mark: string;
  /** Whether the tool has a config: then its mark and the outputs of its calls must not be readable by others. */
  readonly isConfidential: boolean;
}

/** Returns `null` if only the call's own server may record its end. */
export type LedgerClaimOf = (tool: ToolFingerprint) => LedgerClaim | null;
