/** What a tool finds in its context, as far as these tools go. */
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
  /** `missing`: also where nothing has the last name. */
  realpath(path: string, options: { readonly missing: boolean }): Promise<string>;
}

/** `host.exec`. */
export interface Commands {
  run(request: { readonly command: string; readonly timeoutMs: number }): Promise<{
    readonly stdout: string;
    readonly stderr: string;
    /** `null` where it was ended from outside. */
    readonly exitCode: number | null;
    readonly timedOut: boolean;
    /** More was written than is kept. */
    readonly truncated: boolean;
    /** What it had too much of, so that it was ended. */
    readonly excess: string | null;
    /** The time that it was given. */
    readonly timeoutMs: number;
  }>;
}
