import { randomBytes } from "node:crypto";
import { fsyncSync, linkSync, mkdirSync, openSync, closeSync, readFileSync, rmSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { StoreError } from "../../kernel/base/errors.ts";
import { IN_MEMORY } from "../../kernel/store/sqlite/layout.ts";

const KEY_BYTES = 32;
const HEX = /^[0-9a-f]{64}\n?$/;

/**
 * The key of a store of logins, in a file next to it: `logins.sqlite.key`, which only its owner can read. It is made
 * with the store. A copy of the store alone, such as a backup, reveals no login.
 */
export function readKey(store: string): Buffer {
  if (store === IN_MEMORY) return randomBytes(KEY_BYTES);
  const path = `${store}.key`;
  try {
    return readWhole(path) ?? make(path);
  } catch (error) {
    if (error instanceof StoreError) throw error;
    throw new StoreError("the key of the store of logins cannot be read or written", { cause: error });
  }
}

/** `null` if the file does not exist. */
function readWhole(path: string): Buffer | null {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
  if (!HEX.test(text)) throw new StoreError("the key of the store of logins is not 64 hexadecimal digits");
  return Buffer.from(text.trim(), "hex");
}

/** Several processes may make it at once: the first one's is linked, whole. */
function make(path: string): Buffer {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const own = `${path}.${randomBytes(8).toString("hex")}`;
  const file = openSync(own, "wx", 0o600);
  try {
    writeSync(file, `${randomBytes(KEY_BYTES).toString("hex")}\n`);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  try {
    linkSync(own, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  } finally {
    rmSync(own, { force: true });
  }
  const key = readWhole(path);
  if (key === null) throw new StoreError("the key of the store of logins was removed");
  return key;
}
