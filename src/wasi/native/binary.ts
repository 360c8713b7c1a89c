import { createHash } from "node:crypto";
import { GloveboxError } from "../../kernel/base/errors.ts";
import { readFileAt } from "../../kernel/tool/package/file.ts";
import { judgeElf, neededOn } from "./elf.ts";

/** Maximum size of a binary, in bytes. */
const FILE_BYTES_MAX = 64 * 1024 * 1024;

/** A program for this machine: its content and its SHA-256 hash. */
export interface Binary {
  readonly hash: string;
  readonly bytes: Uint8Array;
}

/**
 * Reads a binary without running it. `shown` is its name in messages; links are followed only in the operator's
 * folders. Rejects with a `PackageError` if it cannot be read, and with a `GloveboxError` if it is for another machine.
 */
export async function readBinary(file: string, shown: string, isOperators: boolean): Promise<Binary> {
  const bytes = await readFileAt(file, shown, FILE_BYTES_MAX, isOperators);
  if (bytes === undefined) throw new GloveboxError("load_error", `${shown} does not exist`);
  const judged = judgeElf(bytes, process.arch);
  if (judged.ok) return { hash: createHash("sha256").update(bytes).digest("hex"), bytes };
  const needed = neededOn(process.arch);
  const message = `platform mismatch: ${shown} is ${judged.is}; needed is ${needed}`;
  throw new GloveboxError("load_error", message, { runtime: "native", is: judged.is, needed });
}
