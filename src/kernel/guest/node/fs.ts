import { Buffer, bufferOver } from "./buffer.ts";
import { dataOf } from "./crypto.ts";
import { checkFunction, nodeError } from "./inner/errors.ts";
import { library, type NodeModule, soon } from "./inner/library.ts";
import { bundleFileAt } from "../web/bundle-file.ts";
import { shared as paths } from "./path.ts";
import { shared as streams } from "./stream.ts";
import { fs as constants } from "./tables.ts";

/**
 * `node:fs`: promises and callbacks over the mounts of the capability `fs`; synchronous functions see only the files in
 * the tool's bundle.
 */

type Method = (...args: readonly unknown[]) => Promise<unknown>;
type Face = { readonly [name: string]: Method };

/** `context.host.fs` of the call. */
function face(): Face {
  const call = library.host.call();
  if (call === null) throw new Error("the call has ended");
  return library.host.fs(call) as Face;
}

function pathOf(path: unknown): unknown {
  if (typeof path === "object" && path !== null && "href" in path) return decodeURIComponent((path as URL).pathname);
  return path instanceof Uint8Array ? new TextDecoder().decode(path) : path;
}

function encodingIn(options: unknown): string | undefined {
  if (typeof options === "string") return options;
  const encoding: unknown =
    typeof options === "object" && options !== null ? Reflect.get(options, "encoding") : undefined;
  return typeof encoding === "string" && encoding !== "buffer" ? encoding : undefined;
}

function shown(bytes: Uint8Array, options: unknown): unknown {
  const encoding = encodingIn(options);
  const buffer = bufferOver(bytes);
  return encoding === undefined ? buffer : buffer.toString(...([encoding] as unknown as []));
}

async function readFile(path: unknown, options?: unknown): Promise<unknown> {
  const brought = fileAt(path);
  return shown(brought ?? ((await face()["readFile"]?.(pathOf(path))) as Uint8Array), options);
}

function contentOf(data: unknown, options: unknown): unknown {
  const encoding = encodingIn(options);
  if (typeof data === "string")
    return encoding === undefined || /^utf-?8$/i.test(encoding) ? data : dataOf(data, "data", encoding);
  return data;
}

function flagsOf(options: unknown): object {
  const flag: unknown = typeof options === "object" && options !== null ? Reflect.get(options, "flag") : undefined;
  return flag === undefined ? {} : { flag };
}

/** Functions of `fs/promises` that pass on those of the capability. */
const PLAIN = ["copyFile", "truncate", "readdir", "realpath", "access", "mkdir", "rm", "rmdir", "unlink"] as const;

const promised: { [name: string]: Method } = {
  readFile,
  writeFile: async (path, data, options) =>
    face()["writeFile"]?.(pathOf(path), contentOf(data, options), flagsOf(options)),
  appendFile: async (path, data, options) => face()["appendFile"]?.(pathOf(path), contentOf(data, options)),
  rename: async (path, to) => face()["rename"]?.(pathOf(path), pathOf(to)),
  stat: async (path) => foundStats(path) ?? statsOf(await face()["stat"]?.(pathOf(path))),
  lstat: async (path) => foundStats(path) ?? statsOf(await face()["lstat"]?.(pathOf(path))),
};
for (const name of PLAIN) {
  promised[name] = async (path, ...rest) => {
    if (name === "access" && fileAt(path) !== undefined) return undefined;
    return face()[name]?.(pathOf(path), ...(name === "copyFile" ? [pathOf(rest[0]), ...rest.slice(1)] : rest));
  };
}

/** `Stats`, with fixed values for the members that a mount does not provide. */
function statsOf(found: unknown): unknown {
  if (typeof found !== "object" || found === null) return found;
  const { mtime, mtimeMs } = found as { mtime?: Date; mtimeMs?: number };
  const no = (): boolean => false;
  return Object.assign(found, {
    atime: mtime,
    ctime: mtime,
    birthtime: mtime,
    atimeMs: mtimeMs,
    ctimeMs: mtimeMs,
    birthtimeMs: mtimeMs,
    dev: 0,
    ino: 0,
    mode: 0o644,
    nlink: 1,
    uid: 0,
    gid: 0,
    blksize: 4096,
    blocks: 0,
    isBlockDevice: no,
    isCharacterDevice: no,
    isFIFO: no,
    isSocket: no,
  });
}

/** A function with a callback, of one with a promise. */
function called(method: Method): (...args: unknown[]) => void {
  return (...args) => {
    const callback = args.pop();
    checkFunction(callback, "cb");
    method(...args).then(
      (value) => soon(() => callback(null, value)),
      (error: unknown) => soon(() => callback(error)),
    );
  };
}

const { normalize } = paths as { normalize(path: string): string };

/** The bytes of a file in the tool's bundle. */
function fileAt(path: unknown): Uint8Array | undefined {
  return bundleFileAt(normalize(String(pathOf(path) as string)), library.host.call());
}

/** The `stat` of such a file. */
function foundStats(path: unknown): unknown {
  const bytes = fileAt(path);
  if (bytes === undefined) return undefined;
  return statsOf({
    size: bytes.length,
    mtimeMs: 0,
    mtime: new Date(0),
    isFile: () => true,
    isDirectory: () => false,
    isSymbolicLink: () => false,
  });
}

function missing(operation: string, path: unknown): Error {
  const name = String(pathOf(path) as string);
  const message =
    `ENOENT: no such file or directory, ${operation} '${name}': a synchronous function finds only files that a ` +
    `module of the tool names by new URL("./name", import.meta.url) or join(__dirname, "name"), written out; use ` +
    `fs.promises with a grant of the capability "fs" for others`;
  return Object.assign(nodeError(Error, "ENOENT", message), { errno: -2, syscall: operation, path: name });
}

function bytesOf(operation: string, path: unknown): Uint8Array {
  const bytes = fileAt(path);
  if (bytes === undefined) throw missing(operation, path);
  return bytes;
}

const { from } = Buffer as unknown as { from(value: unknown): Uint8Array };

const sync: NodeModule = {
  readFileSync: (path: unknown, options?: unknown) => shown(bytesOf("open", path).slice(), options),
  existsSync: (path: unknown) => fileAt(path) !== undefined,
  statSync: (path: unknown, options?: { throwIfNoEntry?: boolean }) => {
    const stats = foundStats(path);
    if (stats === undefined && options?.throwIfNoEntry !== false) throw missing("stat", path);
    return stats;
  },
  accessSync: (path: unknown) => void bytesOf("access", path),
  realpathSync: (path: unknown) => (bytesOf("realpath", path), pathOf(path)),
  openSync: (path: unknown) => {
    throw missing("open", path);
  },
  readdirSync: (path: unknown) => {
    throw missing("scandir", path);
  },
};
sync["lstatSync"] = sync["statSync"];
Object.assign(sync["realpathSync"] as object, { native: sync["realpathSync"] });

interface Sink {
  push(chunk: unknown): void;
  destroy(error: unknown): void;
}
const { Readable, Writable } = streams as unknown as { [name: string]: new (options: object) => object };

/** Reads the file as a whole: mounts have no open files. */
function createReadStream(path: unknown, options?: unknown): object {
  const encoding = encodingIn(options);
  const range = (typeof options === "object" && options !== null ? options : {}) as { start?: number; end?: number };
  let isRead = false;
  const made = new (Readable as new (options: object) => object)({
    ...(encoding === undefined ? {} : { encoding }),
    read(this: Sink) {
      if (isRead) return;
      isRead = true;
      readFile(path).then(
        (bytes) => {
          this.push(
            (bytes as Uint8Array).subarray(range.start ?? 0, range.end === undefined ? undefined : range.end + 1),
          );
          this.push(null);
        },
        (error: unknown) => this.destroy(error),
      );
    },
  });
  return Object.assign(made, { path });
}

function createWriteStream(path: unknown, options?: unknown): object {
  const chunks: Uint8Array[] = [];
  const { flags } = (typeof options === "object" && options !== null ? options : {}) as { flags?: string };
  const made = new (Writable as new (options: object) => object)({
    write(chunk: unknown, encoding: unknown, done: () => void) {
      chunks.push(from(dataOf(chunk, "chunk", encoding)));
      done();
    },
    final(done: (error?: unknown) => void) {
      const all = (Buffer as unknown as { concat(list: unknown[]): Uint8Array }).concat(chunks);
      const name = flags?.startsWith("a") === true ? "appendFile" : "writeFile";
      (promised[name] as Method)(path, all).then(
        () => done(),
        (error: unknown) => done(error),
      );
    },
  });
  return Object.assign(made, { path });
}

const { F_OK, R_OK, W_OK, X_OK } = constants;
export const shared: NodeModule = {
  ...sync,
  constants,
  createReadStream,
  createWriteStream,
  F_OK,
  R_OK,
  W_OK,
  X_OK,
  exists: (path: unknown, callback: (exists: boolean) => void) =>
    void promised["access"]?.(path).then(
      () => callback(true),
      () => callback(false),
    ),
  promises: { ...promised, constants },
};
for (const [name, method] of Object.entries(promised)) shared[name] = called(method);
// Its callback gets no error.
Object.defineProperty(shared["exists"], Symbol.for("nodejs.util.promisify.custom"), {
  value: (path: unknown) =>
    promised["access"]?.(path).then(
      () => true,
      () => false,
    ),
});

export const hidden = [constants, statsOf, called, promised, sync];
