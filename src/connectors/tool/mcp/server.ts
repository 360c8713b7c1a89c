/** A header of all requests to a server; secrets in it are placeholders. */
export type McpHeader = readonly [name: string, value: string];

/** A folder of the host in the sandbox of a server. */
export interface McpFolder {
  /** Path of the host. */
  readonly path: string;
  readonly mode: "ro" | "rw";
}

/** A server that is reached by Streamable HTTP. */
export interface HttpServer {
  readonly kind: "http";
  /** Secrets in its query are placeholders. */
  readonly url: string;
  readonly headers: readonly McpHeader[];
  /** Whether its host may have an address that is not public. */
  readonly isPrivate: boolean;
}

/** A server that is started as a process, and speaks over its stdin and stdout. */
export interface StdioServer {
  readonly kind: "stdio";
  readonly command: string;
  readonly args: readonly string[];
  /** All of its environment besides `PATH`, `HOME` and `LANG`. Secrets are placeholders. */
  readonly env: ReadonlyMap<string, string>;
  /** Working directory, by its path inside the sandbox; `null` for the home of its sandbox. */
  readonly cwd: string | null;
  /** Folders of the host, by their paths inside. */
  readonly folders: ReadonlyMap<string, McpFolder>;
  /** Whether it has the machine's network, unfiltered. */
  readonly network: boolean;
  /** `off`: it runs with the rights of the engine's process. */
  readonly sandbox: "require" | "off";
}

export type McpServer = HttpServer | StdioServer;
