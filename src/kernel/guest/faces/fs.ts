import { decodeBase64, encodeBase64 } from "../web/base64-bytes.ts";
import { bytesOf } from "../web/buffer-source.ts";
import { encodeUtf8 } from "../web/utf8.ts";
import { type AskHost, openFace } from "./face.ts";

/** File content in a capability call. */
type Content = { readonly text: string } | { readonly base64: string };
type Kind = "file" | "folder" | "link" | "other";
type Answer = { readonly value: unknown } | { readonly failure: SystemFailure };
type Options = { readonly [name: string]: unknown };

/** An error of the host's system, with the tool's own paths. */
interface SystemFailure {
  readonly code: string;
  readonly message: string;
  readonly syscall: string;
  readonly path: string;
  readonly dest?: string;
}

const CONSTANTS = { F_OK: 0, X_OK: 1, W_OK: 2, R_OK: 4, COPYFILE_EXCL: 1 };

/**
 * `host.fs`: a subset of `node:fs/promises`, with errors as Node's, with `code`, `path` and `syscall`. Paths begin with
 * a mount: `/data/x.txt`. In addition, `readFile` takes `position` and `length`, and `realpath` takes `missing`: the
 * last name need not exist. These objects belong to one call, so they need not be frozen.
 */
export function fsFace(ask: AskHost): object {
  const call = async (method: string, args: Options): Promise<unknown> => {
    const answer = (await ask("fs", method, args)) as Answer;
    if ("failure" in answer) throw systemError(answer.failure);
    return answer.value;
  };
  const run = async (method: string, args: Options): Promise<void> => void (await call(method, args));
  const write = (path: unknown, data: unknown, options: unknown, usual: string): Promise<void> => {
    const { flag = usual } = writeOptions(options);
    return run("writeFile", { path: pathOf(path), data: contentOf(data), flag });
  };
  const members = {
    readFile: async (path: unknown, options?: unknown) => {
      const { encoding, position, length } = optionsOf(options, "encoding");
      const wanted = encodingOf(encoding);
      const content = (await call("readFile", { path: pathOf(path), encoding: wanted, position, length })) as Content;
      return wanted === undefined ? bytesIn(content) : textIn(content);
    },
    writeFile: async (path: unknown, data: unknown, options?: unknown) => write(path, data, options, "w"),
    appendFile: async (path: unknown, data: unknown, options?: unknown) => write(path, data, options, "a"),
    copyFile: async (path: unknown, to: unknown, mode: unknown = 0) =>
      run("copyFile", { path: pathOf(path), to: pathOf(to), exclusive: mode === CONSTANTS.COPYFILE_EXCL }),
    truncate: async (path: unknown, length?: unknown) => run("truncate", { path: pathOf(path), length }),
    readdir: async (path: unknown, options?: unknown) => {
      const { recursive, withFileTypes } = optionsOf(options, "encoding");
      const folder = pathOf(path);
      const entries = (await call("readdir", { path: folder, recursive })) as readonly (readonly [string, Kind])[];
      return withFileTypes === true
        ? entries.map(([name, kind]) => direntOf(folder, name, kind))
        : entries.map(([name]) => name);
    },
    stat: async (path: unknown) => statsOf(await call("stat", { path: pathOf(path) })),
    lstat: async (path: unknown) => statsOf(await call("lstat", { path: pathOf(path) })),
    realpath: async (path: unknown, options?: unknown) => {
      const { missing } = optionsOf(options, "encoding");
      return call("realpath", { path: pathOf(path), missing });
    },
    access: async (path: unknown, mode?: unknown) => run("access", { path: pathOf(path), mode }),
    mkdir: async (path: unknown, options?: unknown) => {
      const { recursive } = optionsOf(options, "mode");
      return (await call("mkdir", { path: pathOf(path), recursive })) ?? undefined;
    },
    rm: async (path: unknown, options?: unknown) => {
      const { recursive, force } = optionsOf(options, "");
      return run("rm", { path: pathOf(path), recursive, force });
    },
    rmdir: async (path: unknown) => run("rmdir", { path: pathOf(path) }),
    unlink: async (path: unknown) => run("unlink", { path: pathOf(path) }),
    rename: async (path: unknown, to: unknown) => run("rename", { path: pathOf(path), to: pathOf(to) }),
    constants: { ...CONSTANTS },
  };
  const known = new Map<string, unknown>(Object.entries(members));
  return openFace((name) => known.get(name) ?? ((args?: unknown) => ask("fs", name, args)));
}

function systemError({ message, ...facts }: SystemFailure): Error {
  return Object.assign(new Error(message), facts);
}

function pathOf(path: unknown): string {
  if (typeof path === "string") return path;
  throw new TypeError(
    `The path must be a string, but got ${path === null ? "null" : `a value of type ${typeof path}`}`,
  );
}

/** Options as an object; a single value, where Node accepts one, becomes the option called `short`. */
function optionsOf(options: unknown, short: string): Options {
  if (options === undefined || options === null) return {};
  return typeof options === "object" ? (options as Options) : { [short]: options };
}

function writeOptions(options: unknown): Options {
  const read = optionsOf(options, "encoding");
  encodingOf(read["encoding"]);
  return read;
}

function encodingOf(encoding: unknown): "utf8" | undefined {
  if (encoding === undefined || encoding === null || encoding === "buffer") return undefined;
  if (encoding === "utf8" || encoding === "utf-8") return "utf8";
  throw new TypeError("The only encoding there is is utf8; without one, readFile gives a Uint8Array");
}

function contentOf(data: unknown): Content {
  if (typeof data === "string") return { text: data };
  const bytes = bytesOf(data);
  if (bytes === undefined) throw new TypeError("The data must be a string, an ArrayBuffer or a view of one");
  return { base64: encodeBase64(bytes) };
}

function bytesIn(content: Content): Uint8Array {
  if ("text" in content) return encodeUtf8(content.text);
  return decodeBase64(content.base64);
}

function textIn(content: Content): string {
  return "text" in content ? content.text : "";
}

function kindTests(kind: Kind): object {
  return {
    isFile: () => kind === "file",
    isDirectory: () => kind === "folder",
    isSymbolicLink: () => kind === "link",
  };
}

function statsOf(facts: unknown): object {
  const { kind, size, mtimeMs } = facts as { readonly kind: Kind; readonly size: number; readonly mtimeMs: number };
  return { size, mtimeMs, mtime: new Date(mtimeMs), ...kindTests(kind) };
}

/** A `Dirent` as Node's: in a recursive listing, each entry has its own name and the path of its parent folder. */
function direntOf(folder: string, path: string, kind: Kind): object {
  const slash = path.lastIndexOf("/");
  const base = folder.length > 1 && folder.endsWith("/") ? folder.slice(0, -1) : folder;
  const below = path.slice(0, Math.max(0, slash));
  const parentPath = below === "" ? base : `${base === "/" ? "" : base}/${below}`;
  return { name: path.slice(slash + 1), parentPath, ...kindTests(kind) };
}
