import { createReadStream, existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { Command } from "commander";
import { STATE_DIR } from "../../engine/options.ts";
import type { StoredRow } from "../../store/calls/call-lines.ts";
import { CliError, EXIT } from "./exit.ts";
import { print, say } from "./output.ts";

interface FileOptions {
  readonly file: string;
}

/** Calls that are written at once. */
const BATCH = 256;
/** More than any line that an export has. */
const LINE_MAX = 8 * 1024 * 1024;
/** An import is not to remove what it has just written. */
const FOREVER = { maxAgeMs: Number.MAX_SAFE_INTEGER, detailAgeMs: Number.MAX_SAFE_INTEGER, maxBytes: 64 * 1024 ** 3 };
const DEFAULT_FILE = join(STATE_DIR, "calls.sqlite");

/** `glovebox calls export` and `import`: the store of calls as lines of JSON, without a server. */
export function callFileCommands(): readonly Command[] {
  const write = new Command("export")
    .description("print all kept calls of a file as lines of JSON, oldest first; a server may have it open")
    .option("--file <path>", "the store of calls", DEFAULT_FILE)
    .action(exportCalls);
  const read = new Command("import")
    .argument("<lines>", "file of lines as `calls export` prints them")
    .description("add exported calls to the store of calls in a file")
    .option("--file <path>", "the store of calls", DEFAULT_FILE)
    .action(importCalls);
  return [write, read];
}

async function exportCalls({ file }: FileOptions): Promise<void> {
  if (!existsSync(file)) throw new CliError(EXIT.USAGE, `there is no file ${file}`);
  const [{ writeLine }, store] = await Promise.all([import("../../store/calls/call-lines.ts"), open(file)]);
  let seq = 0;
  for (;;) {
    const rows = store.read((reader) => reader.rowsAfter(seq, BATCH));
    const last = rows.at(-1);
    if (last === undefined) break;
    seq = last[0];
    for (const [, row] of rows) print(writeLine(row));
    // Whoever reads it slowly is waited for.
    if (process.stdout.writableNeedDrain) await new Promise((resume) => process.stdout.once("drain", resume));
  }
  store.close();
}

async function importCalls(lines: string, { file }: FileOptions): Promise<void> {
  if (!existsSync(lines)) throw new CliError(EXIT.USAGE, `there is no file ${lines}`);
  const [{ readLine }, store] = await Promise.all([import("../../store/calls/call-lines.ts"), open(file)]);
  let rows: StoredRow[] = [];
  let count = 0;
  const write = (): void => {
    store.write((writer) => writer.add(rows));
    rows = [];
  };
  for await (const line of createInterface({ input: createReadStream(lines, "utf8") })) {
    count++;
    try {
      if (line.length > LINE_MAX) throw new TypeError(`it has more than ${LINE_MAX} characters`);
      rows.push(readLine(line));
    } catch (error) {
      store.close();
      const reason = error instanceof Error ? error.message : "it cannot be read";
      throw new CliError(EXIT.INVALID, `line ${count} of ${lines}: ${reason}`);
    }
    if (rows.length === BATCH) write();
  }
  write();
  store.close();
  say(`${count} calls were added to ${file}`);
}

async function open(file: string) {
  const { CallFile } = await import("../../store/calls/thread/call-file.ts");
  return new CallFile({ path: resolve(file), ...FOREVER }, (reason) => say(`the store was ${reason}, and begun anew`));
}
