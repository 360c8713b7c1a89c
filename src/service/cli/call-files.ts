import { createReadStream, existsSync, renameSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { Command } from "commander";
import { STATE_DIR } from "../../engine/options.ts";
import type { LineReader } from "../../base/protocol/line-reader.ts";
import type { StoredRow } from "../../store/calls/call-lines.ts";
import { DEFAULT_KEYS } from "../../store/calls/ledger.ts";
import { CliError, EXIT } from "./exit.ts";
import { print, say } from "./output.ts";

interface FileOptions {
  readonly file: string;
}

/** Calls that are written at once. */
const BATCH = 256;
const BATCH_CHARS = 16 * 1024 * 1024;
/** More than any line that an export has. */
const LINE_MAX = 8 * 1024 * 1024;
/** An import is not to remove what it has just written. */
const FOREVER = {
  maxAgeMs: Number.MAX_SAFE_INTEGER,
  detailAgeMs: Number.MAX_SAFE_INTEGER,
  maxBytes: 64 * 1024 ** 3,
  keys: DEFAULT_KEYS,
};
const PAGES_MOST = 2 ** 31 - 1;
const DEFAULT_FILE = join(STATE_DIR, "calls.sqlite");

/** `glovebox calls export`, `import` and `backup`: the store of calls without a server. */
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
  const copy = new Command("backup")
    .argument("<copy>", "file that is made")
    .description("copy the store of calls and of idempotency keys as it is at one moment; a server may have it open")
    .option("--file <path>", "the store of calls", DEFAULT_FILE)
    .action(backUp);
  return [write, read, copy];
}

async function backUp(copy: string, { file }: FileOptions): Promise<void> {
  if (!existsSync(file)) throw new CliError(EXIT.USAGE, `there is no file ${file}`);
  if (existsSync(copy)) throw new CliError(EXIT.USAGE, `there is a file ${copy} already: name another one`);
  const { backup, DatabaseSync } = await import("node:sqlite");
  const { CALLS_LAYOUT } = await import("../../store/calls/call-tables.ts");
  const { createFile, requireLayout } = await import("../../store/sqlite/layout.ts");
  const { describeFailure } = await import("../../store/sqlite/failure.ts");
  // A backup that is cut off is not taken for a whole one.
  const part = resolve(`${copy}.part`);
  try {
    rmSync(part, { force: true });
    createFile(part);
    using database = new DatabaseSync(resolve(file), { readOnly: true });
    requireLayout(database, CALLS_LAYOUT);
    // In one step: between two, what a server writes would begin it anew.
    await backup(database, part, { rate: PAGES_MOST });
    const { quick_check: state } = checked(new DatabaseSync(part));
    if (state !== "ok") throw new CliError(EXIT.FAILED, `${file} is damaged: there is no copy`);
    renameSync(part, copy);
  } catch (error) {
    rmSync(part, { force: true });
    if (error instanceof CliError) throw error;
    throw new CliError(EXIT.FAILED, `${file}: ${describeFailure(error).message}`);
  }
  say(`${file} was copied to ${copy}`);
}

function checked(database: DatabaseSync): Readonly<Record<string, unknown>> {
  using copy = database;
  // One file without another beside it.
  copy.exec("PRAGMA journal_mode = DELETE");
  return copy.prepare("PRAGMA quick_check(1)").get() ?? {};
}

async function exportCalls({ file }: FileOptions): Promise<void> {
  if (!existsSync(file)) throw new CliError(EXIT.USAGE, `there is no file ${file}`);
  const { DatabaseSync } = await import("node:sqlite");
  const { CallReader, CALLS_LAYOUT } = await import("../../store/calls/call-tables.ts");
  const { writeLine } = await import("../../store/calls/call-lines.ts");
  const { requireLayout } = await import("../../store/sqlite/layout.ts");
  const { describeFailure } = await import("../../store/sqlite/failure.ts");
  try {
    // It only reads: a file that is damaged stays as it is.
    using database = new DatabaseSync(resolve(file), { readOnly: true });
    requireLayout(database, CALLS_LAYOUT);
    const reader = new CallReader(database);
    for (
      let rows = reader.rowsAfter(0, BATCH);
      rows.length > 0;
      rows = reader.rowsAfter(rows.at(-1)?.[0] ?? 0, BATCH)
    ) {
      for (const [, row] of rows) print(writeLine(row));
      // Whoever reads it slowly is waited for.
      if (process.stdout.writableNeedDrain) await new Promise((resume) => process.stdout.once("drain", resume));
    }
  } catch (error) {
    throw new CliError(EXIT.FAILED, `${file}: ${describeFailure(error).message}`);
  }
}

async function importCalls(lines: string, { file }: FileOptions): Promise<void> {
  if (!existsSync(lines)) throw new CliError(EXIT.USAGE, `there is no file ${lines}`);
  const { readLine } = await import("../../store/calls/call-lines.ts");
  const { LineReader } = await import("../../base/protocol/line-reader.ts");
  const { ProtocolError } = await import("../../base/protocol/wire.ts");
  await using opened = new AsyncDisposableStack();
  const store = opened.adopt(await open(file), (one) => one.close());
  let rows: StoredRow[] = [];
  let [count, chars] = [0, 0];
  const write = (): void => {
    store.write((writer) => writer.add(rows));
    [rows, chars] = [[], 0];
  };
  const read = (line: string): void => {
    count++;
    rows.push(readLine(line));
    chars += line.length;
    if (rows.length === BATCH || chars > BATCH_CHARS) write();
  };
  try {
    await eachLine(lines, new LineReader(LINE_MAX), read);
  } catch (error) {
    if (error instanceof ProtocolError) throw badLine(count + 1, lines, `it has more than ${LINE_MAX} characters`);
    if (error instanceof TypeError) throw badLine(count, lines, error.message);
    throw error;
  }
  write();
  say(`${count} calls were added to ${file}`);
}

function badLine(number: number, file: string, reason: string): CliError {
  return new CliError(EXIT.INVALID, `line ${number} of ${file}: ${reason}`);
}

/** Throws a `ProtocolError` at a line that is longer than any of an export. */
async function eachLine(file: string, reader: LineReader, read: (line: string) => void): Promise<void> {
  let last = "\n";
  for await (const chunk of createReadStream(file, "utf8") as AsyncIterable<string>) {
    reader.push(chunk, read);
    last = chunk;
  }
  if (!last.endsWith("\n")) reader.push("\n", read);
}

async function open(file: string) {
  const { CallFile } = await import("../../store/calls/thread/call-file.ts");
  return new CallFile({ path: resolve(file), ...FOREVER }, (reason) => say(`the store was ${reason}, and begun anew`));
}
