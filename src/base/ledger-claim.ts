/** What another process has to know of a call with a key to say in the place of its server how it ended. */
export interface LedgerClaim {
  /** The call's in the ledger, in hexadecimal digits. */
  readonly digest: string;
  /** Who holds it, by this claim: one that comes later is another's, even of the same process. */
  readonly holder: string;
  /** The mark of its tool, as the ledger keeps things: who cannot read it does not know the ledger's secret. */
  readonly tool: string;
}

/** A tool, as the ledger is told of it. */
export interface ToolFingerprint {
  /** The same for the same tool, wherever it is registered. */
  readonly mark: string;
  /** Whether it has a config: then neither its mark nor what its calls say may be read by others. */
  readonly isConfidential: boolean;
}

/** Answers `null` where a call is its server's alone. */
export type LedgerClaimOf = (tool: ToolFingerprint) => LedgerClaim | null;
