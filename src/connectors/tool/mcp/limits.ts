const KIB = 1024;
const MIB = 1024 * KIB;

/** Limits of an MCP server: messages, resources and times. */
export interface McpLimits {
  /** Longest message: one answer, or one page of a list. */
  readonly messageBytes: number;
  /**
   * Brackets and commas of a message: they bound the memory for reading it. A thread that runs out of memory ends its
   * process.
   */
  readonly messageParts: number;
  /** Bytes of longer messages that are read and discarded before the connection is ended. */
  readonly discardedBytes: number;
  /** Number of messages, and of bytes, within `inflowMs`, after which the connection is ended. */
  readonly inflowMs: number;
  readonly inflowMessages: number;
  readonly inflowBytes: number;
  /** Requests over HTTP that are under way at once, with their answers. A connector's `concurrency` is added. */
  readonly requests: number;
  /** Shortest delay before a stream that has ended is resumed, whatever its server asks for. */
  readonly resumeMinMs: number;
  /** Maximum number of tools, of pages, and of bytes of a list as JSON. */
  readonly listTools: number;
  readonly listPages: number;
  readonly listBytes: number;
  /** Longest tool in a list, as JSON. */
  readonly toolBytes: number;
  /** Longest name of a tool, in characters. */
  readonly nameChars: number;
  /** Times of the parts of a connection's start, which may download the server, of a list, and of a sign of life, in milliseconds. */
  readonly connectMs: number;
  readonly probeMs: number;
  readonly listMs: number;
  readonly aliveMs: number;
  /** Time that a closed server has to end itself. */
  readonly closeMs: number;
  /** Delays before the next connection, in milliseconds. */
  readonly backoffMinMs: number;
  readonly backoffMaxMs: number;
  /** Minimum time between two lists, for any `ttlMs` of the server. */
  readonly ttlMinMs: number;
  /** Heap of the thread, in MiB. */
  readonly heapMb: number;
  /** Processes and threads of a server in its sandbox, their memory, and the size of their own folders. */
  readonly processes: number;
  readonly memoryBytes: number;
  readonly fileBytes: number;
  readonly folderBytes: number;
  readonly folderEntries: number;
}

export const MCP_LIMITS: McpLimits = Object.freeze({
  messageBytes: 8 * MIB,
  messageParts: 500_000,
  discardedBytes: 64 * MIB,
  inflowMs: 10_000,
  inflowMessages: 5_000,
  inflowBytes: 128 * MIB,
  requests: 256,
  resumeMinMs: 1_000,
  listTools: 1_000,
  listPages: 100,
  listBytes: 4 * MIB,
  toolBytes: 64 * KIB,
  nameChars: 256,
  connectMs: 40_000,
  probeMs: 15_000,
  listMs: 30_000,
  aliveMs: 10_000,
  closeMs: 2_000,
  backoffMinMs: 1_000,
  backoffMaxMs: 60_000,
  ttlMinMs: 60_000,
  heapMb: 512,
  processes: 256,
  memoryBytes: 1_024 * MIB,
  fileBytes: 1_024 * MIB,
  folderBytes: 512 * MIB,
  folderEntries: 100_000,
});
