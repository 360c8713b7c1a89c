import ivm from "isolated-vm";
import type { ReadCode } from "../../kernel/executor/worker/worker-runtime.ts";

/** Code of a Python tool, as its engine loads it. */
export const readPythonCode: ReadCode = (script) => {
  const [text = "", ...libraries] = script.text.split("\n");
  // Decoded for each isolate: to keep the bytes would take as much memory as the text.
  return () => [text, ...libraries.map((library) => transferred(library))];
};

/** A buffer in the isolate that gets it, of bytes as Base64. */
function transferred(base64: string): ivm.Copy<ArrayBuffer> {
  // A copy: small buffers of Node are parts of a larger one.
  const { buffer } = new Uint8Array(Buffer.from(base64, "base64"));
  return new ivm.ExternalCopy(buffer, { transferOut: true }).copyInto({ release: true, transferIn: true });
}
