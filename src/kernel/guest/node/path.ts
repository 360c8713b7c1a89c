import { invalidArgType, checkString } from "./inner/errors.ts";
import { matchesGlob } from "./inner/globs.ts";
import type { NodeModule } from "./inner/library.ts";

/** `node:path`, in both of its forms. Inside an isolate paths are POSIX paths, and the working directory is `/`. */

interface Form {
  readonly sep: "/" | "\\";
  readonly delimiter: string;
  readonly isWindows: boolean;
}

/** A path in its parts: `device` is empty in POSIX paths. */
interface Split {
  readonly device: string;
  readonly isAbsolute: boolean;
  /** The path after the device and its separator. */
  readonly rest: string;
}

interface Parsed {
  readonly root: string;
  readonly dir: string;
  readonly base: string;
  readonly ext: string;
  readonly name: string;
}

const LETTER = /^[A-Za-z]:/;
/** `\\server\share`, with any number of separators after the first two. */
const UNC = /^[\\/]{2}([^\\/]+)[\\/]+([^\\/]+)/;
/** Names of devices, of which a relative path with a colon must not become one. */
const RESERVED = /^(?:con|prn|aux|nul|(?:com|lpt)[1-9\u00b9\u00b2\u00b3])$/i;

function split({ isWindows }: Form, path: string): Split {
  if (!isWindows) {
    const isAbsolute = path.startsWith("/");
    return { device: "", isAbsolute, rest: path };
  }
  const unc = UNC.exec(path);
  if (unc !== null) {
    const [whole, server = "", share = ""] = unc;
    if (server === "." || server === "?") return { device: `\\\\${server}`, isAbsolute: true, rest: path.slice(3) };
    return { device: `\\\\${server}\\${share}`, isAbsolute: true, rest: path.slice(whole.length) };
  }
  const device = LETTER.exec(path)?.[0] ?? "";
  const rest = path.slice(device.length);
  return { device, isAbsolute: isSeparator(true, rest[0]), rest };
}

function isSeparator(isWindows: boolean, char: string | undefined): boolean {
  return char === "/" || (isWindows && char === "\\");
}

/** Names of a path without `.`, and with `..` only if it leads out of a relative path. */
function names(form: Form, rest: string, isAbsolute: boolean): string[] {
  const found: string[] = [];
  for (const name of rest.split(form.isWindows ? /[\\/]+/ : /\/+/)) {
    if (name === "" || name === ".") continue;
    if (name !== "..") found.push(name);
    else if (found.length > 0 && found.at(-1) !== "..") found.pop();
    else if (!isAbsolute) found.push("..");
  }
  return found;
}

function normalize(form: Form, path: string): string {
  if (path === "") return ".";
  const { device, isAbsolute, rest } = split(form, path);
  const kept = names(form, rest, isAbsolute);
  let tail = kept.join(form.sep);
  if (tail === "" && !isAbsolute) tail = ".";
  if (tail !== "" && isSeparator(form.isWindows, path.at(-1))) tail += form.sep;
  if (form.isWindows && device === "" && !isAbsolute) tail = harmless(path, tail);
  return device + (isAbsolute ? form.sep : "") + tail;
}

/** A relative path with a colon, so that it does not become the path of a device. */
function harmless(path: string, tail: string): string {
  if (!path.includes(":")) return tail;
  const isOdd = LETTER.test(tail) || /:(?:[\\/]|$)/.test(path) || RESERVED.test(path.slice(0, path.indexOf(":")));
  return isOdd ? `.\\${tail}` : tail;
}

function join(form: Form, parts: readonly unknown[]): string {
  const some = parts.filter((part) => {
    checkString(part, "path");
    return part !== "";
  }) as string[];
  if (some.length === 0) return ".";
  let joined = some.join(form.sep);
  // Only a first part that begins as a share does is one.
  if (form.isWindows && /^[\\/]{2}/.test(joined) && !/^[\\/]{2}[^\\/]/.test(some[0] ?? ""))
    joined = joined.replace(/^[\\/]{2,}/, "\\");
  return normalize(form, joined);
}

/** Appends paths until one of them is absolute, from the last to the first. */
function resolve(form: Form, parts: readonly unknown[]): string {
  let device = "";
  let tail = "";
  let isAbsolute = false;
  for (let at = parts.length - 1; at >= -1 && !(isAbsolute && (device !== "" || !form.isWindows)); at--) {
    const part = at < 0 ? form.sep : parts[at];
    checkString(part, `paths[${at}]`);
    if (part === "") continue;
    const given = split(form, part);
    if (given.device !== "" && device !== "" && given.device.toLowerCase() !== device.toLowerCase()) continue;
    if (device === "") device = given.device;
    if (isAbsolute) continue;
    tail = `${given.rest}${form.sep}${tail}`;
    isAbsolute = given.isAbsolute;
  }
  const kept = names(form, tail, isAbsolute).join(form.sep);
  return device + (isAbsolute ? form.sep : "") + kept || ".";
}

function relative(form: Form, from: unknown, to: unknown): string {
  checkString(from, "from");
  checkString(to, "to");
  const [start, end] = [resolve(form, [from]), resolve(form, [to])];
  const plain = (text: string): string => (form.isWindows ? text.toLowerCase() : text);
  if (from === to || plain(start) === plain(end)) return "";
  const [a = [], b = []] = [start, end].map((path) => path.split(form.sep).filter((name) => name !== ""));
  let same = 0;
  while (same < a.length && same < b.length && plain(a[same] ?? "") === plain(b[same] ?? "")) same++;
  if (form.isWindows && same === 0) return end;
  return [...a.slice(same).map(() => ".."), ...b.slice(same)].join(form.sep);
}

/** Start and end of a path's last name, without the separators after it. */
function lastName(form: Form, path: string, start: number): readonly [from: number, to: number] {
  let to = path.length;
  while (to > start && isSeparator(form.isWindows, path[to - 1])) to--;
  let from = to;
  while (from > start && !isSeparator(form.isWindows, path[from - 1])) from--;
  return [from, to];
}

/** Length of the part before the names of a path: `/`, `C:`, `C:\`, `\\server\share\`. */
function rootLength({ isWindows }: Form, path: string): number {
  if (!isWindows) return path.startsWith("/") ? 1 : 0;
  const unc = UNC.exec(path);
  if (unc !== null) {
    const end = unc[0].length;
    return isSeparator(true, path[end]) ? end + 1 : end;
  }
  const device = LETTER.test(path) ? 2 : 0;
  return isSeparator(true, path[device]) ? device + 1 : device;
}

function dirname(form: Form, path: unknown): string {
  checkString(path, "path");
  if (path === "") return ".";
  const root = rootLength(form, path);
  const [from] = lastName(form, path, root);
  const end = from - 1;
  if (end > root) return path.slice(0, end);
  if (root === 0) return ".";
  // More than one separator at the front are one root.
  return !form.isWindows && path.startsWith("//") && !/[^/]/.test(path.slice(0, from)) && from === 2
    ? "//"
    : path.slice(0, root);
}

function basename(form: Form, path: unknown, suffix?: unknown): string {
  if (suffix !== undefined) checkString(suffix, "suffix");
  checkString(path, "path");
  const [from, to] = lastName(form, path, form.isWindows && LETTER.test(path) ? 2 : 0);
  const base = path.slice(from, to);
  if (typeof suffix !== "string" || suffix === "" || !base.endsWith(suffix)) return base;
  return base === suffix ? (path === suffix ? "" : base) : base.slice(0, -suffix.length);
}

function extensionOf(base: string): string {
  const at = base.lastIndexOf(".");
  return at <= 0 || base === ".." ? "" : base.slice(at);
}

function parse(form: Form, path: unknown): Parsed {
  checkString(path, "path");
  const root = rootLength(form, path);
  const [from, to] = lastName(form, path, root);
  const base = path.slice(from, to);
  const ext = extensionOf(base);
  return {
    root: path.slice(0, root),
    dir: path.slice(0, Math.max(from - 1, root)),
    base,
    ext,
    name: base.slice(0, base.length - ext.length),
  };
}

function format(form: Form, parts: unknown): string {
  if (typeof parts !== "object" || parts === null) throw invalidArgType("pathObject", "Object", parts);
  const { root, dir, base, ext, name } = parts as Partial<Parsed>;
  const dotted = ext !== undefined && ext !== "" && !ext.startsWith(".") ? `.${ext}` : (ext ?? "");
  const last = base || `${name ?? ""}${dotted}`;
  const folder = dir || root;
  if (!folder) return last;
  return folder === root ? `${folder}${last}` : `${folder}${form.sep}${last}`;
}

function toNamespacedPath(form: Form, path: unknown): unknown {
  if (!form.isWindows || typeof path !== "string" || path === "") return path;
  const whole = resolve(form, [path]);
  if (whole.length <= 2) return path;
  if (whole.startsWith("\\\\")) return whole[2] === "?" || whole[2] === "." ? whole : `\\\\?\\UNC\\${whole.slice(2)}`;
  return /^[A-Za-z]:\\/.test(whole) ? `\\\\?\\${whole}` : whole;
}

function make(form: Form): NodeModule {
  return {
    sep: form.sep,
    delimiter: form.delimiter,
    resolve: (...paths: readonly unknown[]) => resolve(form, paths),
    normalize: (path: unknown) => {
      checkString(path, "path");
      return normalize(form, path);
    },
    isAbsolute: (path: unknown) => {
      checkString(path, "path");
      return split(form, path).isAbsolute;
    },
    join: (...parts: readonly unknown[]) => join(form, parts),
    relative: (from: unknown, to: unknown) => relative(form, from, to),
    toNamespacedPath: (path: unknown) => toNamespacedPath(form, path),
    dirname: (path: unknown) => dirname(form, path),
    basename: (path: unknown, suffix?: unknown) => basename(form, path, suffix),
    extname: (path: unknown) => {
      checkString(path, "path");
      return extensionOf(basename(form, path));
    },
    format: (parts: unknown) => format(form, parts),
    parse: (path: unknown) => parse(form, path),
    matchesGlob: (path: unknown, pattern: unknown) => {
      checkString(path, "path");
      checkString(pattern, "pattern");
      return matchesGlob(path, pattern, form.isWindows);
    },
  };
}

const posix = make({ sep: "/", delimiter: ":", isWindows: false });
const win32 = make({ sep: "\\", delimiter: ";", isWindows: true });
for (const form of [posix, win32]) Object.assign(form, { posix, win32, _makeLong: form["toNamespacedPath"] });

export const shared = posix;

/** An instance's own module is one of its members, too. */
export function open(): NodeModule {
  const own: NodeModule = { ...posix };
  own["posix"] = own;
  return own;
}
