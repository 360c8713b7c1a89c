import type { PythonFile } from "../../protocol/python-script.ts";

/** A byte order mark is kept, as everything is: what is written in the end are the bytes that were read. */
const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** A file as a script holds it. What is not UTF-8, whatever its first lines say, is told by its bytes. */
export function pythonFile(bytes: Uint8Array): PythonFile {
  try {
    return UTF8.decode(bytes);
  } catch {
    return { base64: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64") };
  }
}

/** How many characters it takes, or nearly. */
export function weightOf(file: PythonFile): number {
  return typeof file === "string" ? file.length : file.base64.length;
}

/** Whether it is text in which nothing is written. */
export function isEmpty(file: PythonFile): boolean {
  return typeof file === "string" && file.trim() === "";
}
