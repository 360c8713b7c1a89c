import type { PythonFile } from "../../../base/protocol/script.ts";

/** What a tool may weigh with all that it needs: its interpreter holds it several times while it reads it. */
export const SCRIPT_BYTES_MAX = 10 * 1024 * 1024;

/** A byte order mark is kept, as everything is: what is written in the end are the bytes that were read. */
const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const MARK = "\ufeff";
/** How a module says in one of its first two lines in which coding it is written (PEP 263). */
const CODING = /^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)/;
const UTF8_NAME = /^utf-?8(?:-|$)/i;

/**
 * A file as a script holds it: a text where that is all there is to it. What is not UTF-8, and a module that says of itself
 * how it is to be read, is told by its bytes: the interpreter knows what to do with them.
 */
export function pythonFile(name: string, bytes: Uint8Array): PythonFile {
  const text = textOf(bytes);
  if (text !== null && !(name.endsWith(".py") && isCoded(text))) return text;
  return { base64: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64") };
}

/** How many characters it takes. */
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
