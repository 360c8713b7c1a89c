import { createReadStream, type ReadStream, renameSync } from "node:fs";
import { access, copyFile, link, mkdir, readdir, rm, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { Readable } from "node:stream";
import type { DatabaseLayout } from "../../kernel/store/sqlite/layout.ts";
import { StoreError } from "../../kernel/base/errors.ts";
import { AssetError } from "./asset-error.ts";
import type { AssetMetadata } from "./asset-metadata.ts";
import { Database } from "./database.ts";
import { receive, type Upload } from "./upload.ts";

export interface AssetOptions {
  /** Folder of the assets; created if missing. */
  readonly path: string;
  /** Maximum size of an asset, in bytes: default 64 MiB. */
  readonly maxBytes?: number;
  /** Maximum size of all assets together, in bytes: default 10 GiB. */
  readonly maxTotalBytes?: number;
}

/** A stored asset. */
export interface Asset {
  readonly name: string;
  readonly version: string;
  readonly file: string;
  readonly type: string;
  readonly bytes: number;
  /** SHA-256 of the bytes, in hexadecimal. */
  readonly sha256: string;
}

/** Application id: "GbAa" in ASCII. */
const LAYOUT: DatabaseLayout = {
  applicationId: 0x47_62_41_61,
  version: 1,
  sql: `
  CREATE TABLE asset (
    name TEXT NOT NULL,
    version TEXT NOT NULL,
    file TEXT NOT NULL,
    type TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    sha256 TEXT NOT NULL,
    created_ms INTEGER NOT NULL,
    metadata TEXT NOT NULL,
    PRIMARY KEY (name, version)
  ) STRICT;
  CREATE INDEX asset_sha256 ON asset (sha256);
  CREATE TABLE tag (
    name TEXT NOT NULL,
    tag TEXT NOT NULL,
    version TEXT NOT NULL,
    PRIMARY KEY (name, tag)
  ) STRICT;
`,
};

const MIB = 1024 * 1024;
const ASSET_BYTES_DEFAULT = 64 * MIB;
const TOTAL_BYTES_DEFAULT = 10 * 1024 * MIB;
const DATABASE_BYTES = 1024 * MIB;
/** Maximum number of concurrent uploads, including received ones not yet stored. */
const RECEIVED_MAX = 8;
/** Age in milliseconds above which an incoming file belongs to a process that ended during an upload. */
const LEFT_MS = 60 * 60 * 1_000;
const COLUMNS = "name, version, file, type, bytes, sha256";

/** AgentSpace's asset registry: packages of tools in a folder, by name and version. */
export class AssetStore implements Disposable {
  readonly maxBytes: number;
  readonly #maxTotalBytes: number;
  readonly #blobs: string;
  readonly #incoming: string;
  /** Blobs by the names of their files. */
  readonly #packages: string;
  readonly #database: Database;
  #receiving = 0;

  private constructor(database: Database, { path, maxBytes, maxTotalBytes }: Required<AssetOptions>) {
    this.#database = database;
    this.maxBytes = maxBytes;
    this.#maxTotalBytes = maxTotalBytes;
    this.#blobs = join(path, "blobs");
    this.#incoming = join(path, "incoming");
    this.#packages = join(path, "packages");
  }

  /** Opens a folder. Rejects with a `StoreError` that names no path. */
  static async open(options: AssetOptions): Promise<AssetStore> {
    const path = resolve(options.path);
    const { maxBytes = ASSET_BYTES_DEFAULT, maxTotalBytes = TOTAL_BYTES_DEFAULT } = options;
    try {
      for (const part of ["blobs", "incoming"]) await mkdir(join(path, part), { recursive: true, mode: 0o700 });
    } catch (error) {
      const { code = "it is no folder" } = error as NodeJS.ErrnoException;
      throw new StoreError(`the folder of assets cannot be used: ${code}`, { cause: error });
    }
    const database = await Database.open(join(path, "assets.sqlite"), DATABASE_BYTES, LAYOUT);
    const store = new AssetStore(database, { path, maxBytes, maxTotalBytes });
    await store.#removeLeft();
    return store;
  }

  /** Receives a file. The caller disposes of it. Rejects with an `AssetError`. */
  async receive(source: Readable, file: string): Promise<Upload> {
    if (this.#receiving >= RECEIVED_MAX) throw new AssetError("too_many", "too many uploads at once; try again later");
    this.#receiving++;
    let isOver = false;
    const leave = (): void => {
      if (!isOver) this.#receiving--;
      isOver = true;
    };
    try {
      const upload = await receive(source, file, this.#incoming, this.maxBytes);
      // The upload occupies disk until its form ends, which a client may delay: it counts until it is disposed.
      const remove = async (): Promise<void> => {
        await upload[Symbol.asyncDispose]();
        leave();
      };
      return { ...upload, [Symbol.asyncDispose]: remove };
    } catch (error) {
      leave();
      throw error;
    }
  }

  /**
   * Stores an upload. A version never changes: uploading it again is refused unless the bytes are the same, and then
   * only moves the tag. Throws an `AssetError`.
   */
  keep(upload: Upload, metadata: AssetMetadata): { readonly asset: Asset; readonly isNew: boolean } {
    const { asset_name: name } = metadata;
    const { version, tag } = metadata.asset_version;
    return this.#database.write(() => {
      const old = this.#get(name, version);
      if (old !== undefined && old.sha256 !== upload.sha256) {
        throw new AssetError("conflict", `there is a version ${version} of "${name}" already, with other bytes`);
      }
      const asset = old ?? this.#add(upload, metadata);
      if (tag !== undefined) {
        const sql = "INSERT INTO tag VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET version = excluded.version";
        this.#database.rows(sql, name, tag, version);
      }
      // Renamed last, but before the commit: a row never exists without its bytes. Bytes without a row do no harm.
      renameSync(upload.path, join(this.#blobs, upload.sha256));
      return { asset, isNew: old === undefined };
    });
  }

  /** Finds an asset by version, or by tag if no such version exists. */
  find(name: string, version: string): Asset | undefined {
    const exact = this.#get(name, version);
    if (exact !== undefined) return exact;
    const [tag] = this.#database.rows("SELECT version FROM tag WHERE name = ? AND tag = ?", name, version);
    return tag && this.#get(name, String(tag["version"]));
  }

  /** A file of an asset that has its name, for code that reads names of archives. Rejects if the bytes are missing. */
  async fileOf({ sha256, file }: Asset): Promise<string> {
    const folder = join(this.#packages, sha256);
    const path = join(folder, file);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const blob = join(this.#blobs, sha256);
    await link(blob, path).catch(async (error: NodeJS.ErrnoException) => {
      // Not every file system has links.
      if (error.code !== "EEXIST") await copyFile(blob, path);
    });
    return path;
  }

  /** Opens the bytes of an asset. Rejects if the file was removed from the folder from outside. */
  async open({ sha256 }: Asset): Promise<ReadStream> {
    const blob = join(this.#blobs, sha256);
    await access(blob);
    return createReadStream(blob);
  }

  [Symbol.dispose](): void {
    this.#database[Symbol.dispose]();
  }

  #add({ file, type, bytes, sha256 }: Upload, metadata: AssetMetadata): Asset {
    const { asset_name: name, asset_version: versions } = metadata;
    if (this.#totalBytes() + bytes > this.#maxTotalBytes) {
      throw new AssetError("full", `all assets together have at most ${this.#maxTotalBytes} bytes`);
    }
    const { version } = versions;
    this.#database.rows(
      `INSERT INTO asset (${COLUMNS}, created_ms, metadata) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
      name,
      version,
      file,
      type,
      bytes,
      sha256,
      Date.now(),
      JSON.stringify(metadata),
    );
    return { name, version, file, type, bytes, sha256 };
  }

  #get(name: string, version: string): Asset | undefined {
    const sql = `SELECT ${COLUMNS} FROM asset WHERE name = ? AND version = ?`;
    return this.#database.rows(sql, name, version).map(assetOf)[0];
  }

  #totalBytes(): number {
    const [row] = this.#database.rows("SELECT total(bytes) AS bytes FROM (SELECT DISTINCT sha256, bytes FROM asset)");
    return Number(row?.["bytes"]);
  }

  async #removeLeft(): Promise<void> {
    for (const name of await readdir(this.#incoming)) {
      const path = join(this.#incoming, name);
      const { mtimeMs = Date.now() } = (await stat(path).catch(() => undefined)) ?? {};
      if (Date.now() - mtimeMs > LEFT_MS) await rm(path, { force: true });
    }
  }
}

/** Rows come from this store and need no validation. */
function assetOf(row: Record<string, unknown>): Asset {
  const text = (name: string) => String(row[name]);
  return {
    name: text("name"),
    version: text("version"),
    file: text("file"),
    type: text("type"),
    bytes: Number(row["bytes"]),
    sha256: text("sha256"),
  };
}
