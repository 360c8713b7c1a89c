/** Part of a tool's context that these tools use. */
export interface Context {
  readonly host: { readonly fs: Files; readonly exec: Commands };
}

/** `host.fs`. Paths begin with a mount: `/data/x.txt`. */
export interface Files {
  stat(path: string): Promise<{ readonly size: number; isDirectory(): boolean }>;
  readFile(path: string, options: { readonly length: number }): Promise<Uint8Array>;
  writeFile(path: string, text: string): Promise<void>;
  readdir(
    path: string,
    options: { readonly withFileTypes: true },
  ): Promise<readonly { readonly name: string; isDirectory(): boolean }[]>;
  /** `missing`: resolves also if the last name does not exist. */
  realpath(path: string, options: { readonly missing: boolean }): Promise<string>;
}

/** `host.exec`. */
export interface Commands {
  run(request: { readonly command: string; readonly timeoutMs: number }): Promise<{
    readonly stdout: string;
    readonly stderr: string;
    /** `null` if it was ended from outside. */
    readonly exitCode: number | null;
    readonly timedOut: boolean;
    /** Whether output beyond the limit was dropped. */
    readonly truncated: boolean;
    /** Resource that it exceeded, which ended it. */
    readonly excess: string | null;
    /** Timeout that applied, in milliseconds. */
    readonly timeoutMs: number;
  }>;
}
