/**
 * A Python tool's code; `ToolScript.text` is this as JSON; then, on a separate line, each of its libraries as Base64.
 */
export interface PythonScript {
  /** The tool's own file among `files`: `function.py`, or `name/__init__.py` for a Python package. */
  readonly entry: string;
  /** The tool's own files, keyed by path with `/`; the interpreter has them in `/tool`. */
  readonly files: { readonly [path: string]: PythonFile };
  /** The installed packages, with the paths of their site-packages folder. */
  readonly packages: { readonly [path: string]: PythonFile };
  /** Paths of machine code among the packages; the code itself follows the script. */
  readonly libraries?: readonly string[];
}

/** A file's text, or its bytes as Base64 if it is not text. */
export type PythonFile = string | { readonly base64: string };

/**
 * Maximum size of a tool with all its dependencies, in bytes: the interpreter makes several copies while it loads them.
 */
export const SCRIPT_BYTES_MAX = 10 * 1024 * 1024;

/** `ignoreBOM` keeps a byte order mark, so that a file's bytes survive the round trip. */
const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const MARK = "\ufeff";
/** The encoding declaration in one of a module's first two lines (PEP 263). */
const CODING = /^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)/;
const UTF8_NAME = /^utf-?8(?:-|$)/i;

/**
 * Converts a file: plain UTF-8 becomes text. Other content, and modules that declare an encoding, stay bytes, which the
 * interpreter decodes.
 */
export function pythonFile(name: string, bytes: Uint8Array): PythonFile {
  const text = textOf(bytes);
  if (text !== null && !(name.endsWith(".py") && isCoded(text))) return text;
  return { base64: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64") };
}

/** Length in characters. */
export function weightOf(file: PythonFile): number {
  return typeof file === "string" ? file.length : file.base64.length;
}

function textOf(bytes: Uint8Array): string | null {
  try {
    return UTF8.decode(bytes);
  } catch {
    return null;
  }
}

function isCoded(text: string): boolean {
  if (text.startsWith(MARK)) return true;
  return text
    .split(/\r\n|\r|\n/, 2)
    .map((line) => CODING.exec(line)?.[1]?.replaceAll("_", "-"))
    .some((coding) => coding !== undefined && !UTF8_NAME.test(coding));
}
