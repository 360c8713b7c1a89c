import type { JsonValue } from "../base/json.ts";
import type { CapabilityClient, CapabilityProgress } from "../broker/capabilities/custom-types.ts";
import type { Simplify } from "../base/schema/from-json-schema.ts";

/** The types of `context.host`. At run time its members are the faces of `kernel/guest/faces`. */

/** A key of `host.kv` with its metadata. */
export interface KvKey {
  readonly key: string;
  readonly version: number;
  readonly bytes: number;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number | null;
}

/** `host.kv`: JSON values that outlive the call. They are private to the tool and the tenant. */
export interface KvHost {
  /** The value, or `null`. */
  get(key: string): Promise<JsonValue>;
  /** The value with its version: distinguishes a stored `null` from a missing key. */
  entry(key: string): Promise<{ readonly value: JsonValue; readonly version: number } | null>;
  /** The new version, or `null` if `ifVersion` or `ifAbsent` was not met. */
  set(
    key: string,
    value: unknown,
    options?: { readonly ttlMs?: number; readonly ifVersion?: number; readonly ifAbsent?: boolean },
  ): Promise<number | null>;
  /** Whether there was one to delete. */
  delete(key: string, options?: { readonly ifVersion?: number }): Promise<boolean>;
  /** One page. It may be short; the last has `cursor: null`. */
  list(
    asked?: string | { readonly prefix?: string; readonly cursor?: string; readonly limit?: number },
  ): Promise<{ readonly keys: readonly KvKey[]; readonly cursor: string | null }>;
  /** All pages. */
  keys(prefix?: string): AsyncIterable<KvKey>;
}

interface FileKind {
  isFile(): boolean;
  isDirectory(): boolean;
  isSymbolicLink(): boolean;
}
export interface FileStats extends FileKind {
  readonly size: number;
  readonly mtimeMs: number;
  readonly mtime: Date;
}
export interface FileEntry extends FileKind {
  readonly name: string;
  readonly parentPath: string;
}
type FileData = string | ArrayBuffer | ArrayBufferView;
type Encoding = "utf8" | "utf-8";
interface ReadPart {
  readonly position?: number;
  readonly length?: number;
}
interface WriteOptions {
  readonly encoding?: Encoding;
  readonly flag?: string;
}

/** `host.fs`, shaped like `node:fs/promises`. Paths begin with a mount that the tool requests: `/data/x.txt`. */
export interface FsHost<Mount extends string = string> {
  readFile(path: PathIn<Mount>, options: Encoding | (ReadPart & { readonly encoding: Encoding })): Promise<string>;
  readFile(path: PathIn<Mount>, options?: null | (ReadPart & { readonly encoding?: null })): Promise<Uint8Array>;
  writeFile(path: PathIn<Mount>, data: FileData, options?: Encoding | WriteOptions): Promise<void>;
  appendFile(path: PathIn<Mount>, data: FileData, options?: Encoding | WriteOptions): Promise<void>;
  copyFile(path: PathIn<Mount>, to: PathIn<Mount>, mode?: number): Promise<void>;
  truncate(path: PathIn<Mount>, length?: number): Promise<void>;
  readdir(
    path: PathIn<Mount>,
    options: { readonly recursive?: boolean; readonly withFileTypes: true },
  ): Promise<FileEntry[]>;
  readdir(
    path: PathIn<Mount>,
    options?: Encoding | { readonly recursive?: boolean; readonly withFileTypes?: false },
  ): Promise<string[]>;
  stat(path: PathIn<Mount>): Promise<FileStats>;
  lstat(path: PathIn<Mount>): Promise<FileStats>;
  /** `missing`: the last name need not exist. */
  realpath(path: PathIn<Mount>, options?: { readonly missing?: boolean }): Promise<string>;
  access(path: PathIn<Mount>, mode?: number): Promise<void>;
  mkdir(path: PathIn<Mount>, options?: { readonly recursive?: boolean }): Promise<string | undefined>;
  rm(path: PathIn<Mount>, options?: { readonly recursive?: boolean; readonly force?: boolean }): Promise<void>;
  rmdir(path: PathIn<Mount>): Promise<void>;
  unlink(path: PathIn<Mount>): Promise<void>;
  rename(path: PathIn<Mount>, to: PathIn<Mount>): Promise<void>;
  readonly constants: {
    readonly F_OK: number;
    readonly X_OK: number;
    readonly W_OK: number;
    readonly R_OK: number;
    readonly COPYFILE_EXCL: number;
  };
}
type PathIn<Mount extends string> = `/${Mount}` | `/${Mount}/${string}`;

/** `host.tools`: calls other tools, also by `host.tools.NAME(args)`. A failure throws an error with `toolCode`. */
export type ToolsHost = {
  call(name: string, args?: object): Promise<JsonValue>;
} & { readonly [tool: string]: (args?: object) => Promise<JsonValue> };

/** `host.exec`. */
export interface ExecHost {
  run(request: { readonly command: string; readonly timeoutMs?: number; readonly stdin?: string }): Promise<{
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

/**
 * `host.pause`: the call waits, for days if necessary, without holding resources. A refusal throws an error with the
 * `code` `approval_refused`, and in `details` with `expired`, `reason` and `by`.
 */
export interface PauseHost {
  /** Waits for a person, who sees the message and the data. */
  approval(request: {
    readonly message: string;
    readonly data?: JsonValue;
    /** JSON Schema of the data that the person has to send; at most 16,384 characters. By default, any data, or none. */
    readonly schema?: object;
    readonly expiresMs?: number;
  }): Promise<{
    readonly approved: true;
    /** Data of the decision; `null` for none. */
    readonly data: JsonValue;
    readonly actor: string | null;
    readonly reason: string | null;
  }>;
  /** Waits for a signal, and resolves with its payload. */
  signal(request: { readonly name: string; readonly expiresMs?: number }): Promise<JsonValue>;
  /** Waits until a time: milliseconds, or a text in ISO 8601. */
  until(request: { readonly date: string | number }): Promise<null>;
}

interface HostFaces<Caps> {
  /** The global function. */
  readonly fetch: typeof fetch;
  readonly kv: KvHost;
  readonly fs: FsHost<Caps extends { readonly fs: infer Mounts } ? keyof Mounts & string : never>;
  /** Placeholders. The host replaces one by its value where the secret is bound. */
  readonly secrets: {
    readonly [S in Caps extends { readonly secrets: readonly (infer Name extends string)[] } ? Name : never]: string;
  };
  readonly env: {
    get(name: Caps extends { readonly env: readonly (infer Name)[] } ? Name : never): Promise<string | null>;
  };
  readonly tools: ToolsHost;
  readonly exec: ExecHost;
  readonly pause: PauseHost;
}

/** A capability with unknown types. */
interface UntypedClient {
  readonly [method: string]: (args?: unknown, options?: CapabilityProgress) => Promise<unknown>;
}

/** `context.host`: a member for each capability that the tool requests, and no other. */
export type Host<Caps, Custom> = Simplify<{
  readonly [K in Exclude<keyof Caps, "native" | "connector">]: K extends keyof HostFaces<Caps>
    ? HostFaces<Caps>[K]
    : K extends keyof Custom
      ? CapabilityClient<Custom[K]>
      : UntypedClient;
}>;
