/** Where a piece of work runs. */
export type Place =
  | "main thread"
  | "broker thread"
  | "thread pool"
  | "worker thread"
  | "isolate"
  | "child process"
  | "the operating system's sandbox";

/** Who is charged, delayed or refused for it. `nobody`: it is bounded, and charged to no account yet. */
export type Payer = "the call" | "the tenant" | "the key" | "the registrant" | "the operator" | "nobody";

/** Ways into the engine from outside. */
export const SURFACES = ["library", "http", "mcp", "command line"] as const;

/** A piece of work that a process of the host does on behalf of a call, a caller or a registrant. */
export interface HostWork {
  readonly work: string;
  /** Capabilities, surfaces and runtimes that cause it: a test requires that each of them causes some. */
  readonly causes: readonly string[];
  readonly bound: string;
  readonly place: Place;
  readonly payer: Payer;
  /** A file below `test` that fails where the bound does not hold. */
  readonly test: string;
}
