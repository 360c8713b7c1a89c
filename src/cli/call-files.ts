import { createReadStream, existsSync, renameSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { Command } from "commander";
import { STATE_DIR } from "../kernel/engine/options.ts";
import { importOptional } from "../kernel/base/optional-package.ts";
import type { LineReader } from "../kernel/base/protocol/line-reader.ts";
import { type CallSummary, readFilter, summaryOf } from "../kernel/store/calls/call-record.ts";
import type { StoredRow } from "../kernel/store/calls/call-lines.ts";
import type { RedisKeptCalls } from "../fleet/kept-calls/redis-kept-calls.ts";
import type { CallBackend } from "../kernel/store/calls/thread/call-backend.ts";
import { FLEET_DEFAULT, resolveFleetName, resolveRedisUrl } from "../fleet/redis/url.ts";
import { resolveSecret } from "../kernel/store/seal.ts";
import { DEFAULT_KEYS } from "../kernel/store/calls/ledger.ts";
import { CliError, EXIT } from "./exit.ts";
import { orUsage } from "./open-engine.ts";
import { print, say } from "./output.ts";

/** The place of calls: a file, or a fleet's Redis. */
interface StoreOptions {
  readonly file: string;
  readonly redis?: string;
  readonly fleet: string;
}

/** Calls that are written at once. */
const BATCH = 256;
const BATCH_CHARS = 16 * 1024 * 1024;
/** More than any line that an export has. */
const LINE_MAX = 8 * 1024 * 1024;
/** Prevents an import from removing the calls that it has just written. */
const FOREVER = {
  maxAgeMs: Number.MAX_SAFE_INTEGER,
  detailAgeMs: Number.MAX_SAFE_INTEGER,
  maxBytes: 64 * 1024 ** 3,
  keys: DEFAULT_KEYS,
};
/** Expiry of imported calls in a Redis in which no server keeps calls any more. */
const YEAR_MS = 365 * 24 * 60 * 60 * 1_000;
const PAGES_MOST = 2 ** 31 - 1;
const DEFAULT_FILE = join(STATE_DIR, "calls.sqlite");

/** `glovebox calls export`, `import` and `backup`: the store of calls without a server. */
export function callFileCommands(): readonly Command[] {
  const write = withStore(new Command("export"))
    .description("print all kept calls of a file, or of a fleet, as lines of JSON, oldest first; servers may use it")
    .option("--json", "print JSON, as it does anyway")
    .action(exportCalls);
  const read = withStore(new Command("import"))
    .argument("<lines>", "file of lines as `calls export` prints them")
    .description("add exported calls that the store of calls in a file, or that of a fleet, does not have")
    .action(importCalls);
  const copy = new Command("backup")
    .argument("<copy>", "file that is made")
    .description("copy the store of calls and of idempotency keys as it is at one moment; a server may have it open")
    .option("--file <path>", "the store of calls", DEFAULT_FILE)
    .action(backUp);
  return [write, read, copy];
}

async function backUp(copy: string, { file }: Pick<StoreOptions, "file">): Promise<void> {
  if (!existsSync(file)) throw new CliError(EXIT.USAGE, `there is no file ${file}`);
  if (existsSync(copy)) throw new CliError(EXIT.USAGE, `there is a file ${copy} already: name another one`);
  const { backup, DatabaseSync } = await import("node:sqlite");
  const { CALLS_LAYOUT, SEALED_ID } = await import("../kernel/store/calls/call-tables.ts");
  const { createFile, requireLayout } = await import("../kernel/store/sqlite/layout.ts");
  const { describeFailure } = await import("../kernel/store/sqlite/failure.ts");
  // An interrupted backup must not pass for a complete one.
  const part = resolve(`${copy}.part`);
  try {
    rmSync(part, { force: true });
    createFile(part);
    using database = new DatabaseSync(resolve(file), { readOnly: true });
    // A sealed file is copied unchanged, without its secret.
    const { application_id: id } = database.prepare("PRAGMA application_id").get() ?? {};
    requireLayout(database, id === SEALED_ID ? { ...CALLS_LAYOUT, applicationId: SEALED_ID } : CALLS_LAYOUT);
    // In one step: between two steps, a server's write would restart the backup.
    await backup(database, part, { rate: PAGES_MOST });
    const { quick_check: state } = checked(new DatabaseSync(part));
    if (state !== "ok") throw new CliError(EXIT.FAILED, `${file} is damaged: there is no copy`);
    renameSync(part, copy);
  } catch (error) {
    rmSync(part, { force: true });
    if (error instanceof CliError) throw error;
    // Either file may be unreadable or unwritable, or its disk full.
    throw new CliError(EXIT.FAILED, `${file} could not be copied to ${copy}: ${describeFailure(error).message}`);
  }
  say(`${file} was copied to ${copy}`);
}

function checked(database: DatabaseSync): Readonly<Record<string, unknown>> {
  using copy = database;
  // A single file, without a journal.
  copy.exec("PRAGMA journal_mode = DELETE");
  return copy.prepare("PRAGMA quick_check(1)").get() ?? {};
}

function withStore(command: Command): Command {
  return command
    .option("--file <path>", "the store of calls (its secret: GLOVEBOX_CALLS_SECRET)", DEFAULT_FILE)
    .option("--redis <url>", "the fleet's Redis, in place of a file (fleet secret: GLOVEBOX_FLEET_SECRET)")
    .option("--fleet <name>", "name of the fleet in this Redis", FLEET_DEFAULT);
}

async function exportCalls({ file, redis, fleet }: StoreOptions): Promise<void> {
  const { writeLine } = await import("../kernel/store/calls/call-lines.ts");
  for await (const rows of redis === undefined ? rowsOfFile(file) : rowsOfFleet(redis, fleet)) {
    for (const row of rows) print(writeLine(row));
    // The export waits for a slow reader.
    if (process.stdout.writableNeedDrain) await new Promise((resume) => process.stdout.once("drain", resume));
  }
}

async function* rowsOfFile(file: string): AsyncGenerator<readonly StoredRow[]> {
  if (!existsSync(file)) throw new CliError(EXIT.USAGE, `there is no file ${file}`);
  const { DatabaseSync } = await import("node:sqlite");
  const { CallReader, CALLS_LAYOUT } = await import("../kernel/store/calls/call-tables.ts");
  const { requireLayout } = await import("../kernel/store/sqlite/layout.ts");
  const { describeFailure } = await import("../kernel/store/sqlite/failure.ts");
  const secret = fileSecret();
  const sealing =
    secret === null ? null : (await import("../kernel/store/calls/sealed/file-sealing.ts")).FileSealing.of(secret);
  try {
    // It only reads: a damaged file stays unchanged.
    using database = new DatabaseSync(resolve(file), { readOnly: true });
    requireLayout(database, sealing?.layout ?? CALLS_LAYOUT);
    sealing?.checkMark(database);
    const reader = new CallReader(database, sealing?.kept);
    for (let seq = 0; ;) {
      const found = reader.rowsAfter(seq, BATCH);
      if (found.length === 0) return;
      yield found.map(([, row]) => row);
      seq = found.at(-1)?.[0] ?? seq;
    }
  } catch (error) {
    throw new CliError(EXIT.FAILED, `${file}: ${describeFailure(error).message}`);
  }
}

async function* rowsOfFleet(url: string, fleet: string): AsyncGenerator<readonly StoredRow[]> {
  await using opened = new AsyncDisposableStack();
  const calls = opened.adopt(await openFleet(url, fleet), (one) => one.close());
  try {
    for (let found = await calls.rowsAfter(null); found.length > 0;) {
      yield found.map(([, row]) => row);
      found = await calls.rowsAfter(found.at(-1)?.[0] ?? null);
    }
  } catch (error) {
    throw failed(error);
  }
}

async function importCalls(lines: string, { file, redis, fleet }: StoreOptions): Promise<void> {
  if (!existsSync(lines)) throw new CliError(EXIT.USAGE, `there is no file ${lines}`);
  const { readLine } = await import("../kernel/store/calls/call-lines.ts");
  const { LineReader } = await import("../kernel/base/protocol/line-reader.ts");
  const { ProtocolError } = await import("../kernel/base/protocol/wire.ts");
  const { checkKeptRun } = await import("../kernel/engine/replay/recording.ts");
  await using opened = new AsyncDisposableStack();
  const opening: Promise<CallBackend> = redis === undefined ? openFile(file) : openFleet(redis, fleet);
  const store = opened.adopt(await opening, (one) => one.close());
  let rows: StoredRow[] = [];
  let [count, added, chars] = [0, 0, 0];
  const write = async (): Promise<void> => {
    const fresh = await missing(rows, store);
    await store.add(fresh);
    added += fresh.length;
    [rows, chars] = [[], 0];
  };
  const read = (line: string): void => {
    count++;
    const row = readLine(line);
    const run = row[1]?.run ?? null;
    if (run !== null) checkKeptRun(run);
    rows.push(row);
    chars += line.length;
  };
  try {
    await eachLine(lines, new LineReader(LINE_MAX), read, async () => {
      if (rows.length >= BATCH || chars > BATCH_CHARS) await write();
    });
    await write();
  } catch (error) {
    if (error instanceof ProtocolError) throw badLine(count + 1, lines, `it has more than ${LINE_MAX} characters`);
    if (error instanceof TypeError) throw badLine(count, lines, error.message);
    throw failed(error);
  }
  const known = count - added;
  const had = known === 0 ? "" : `; it had ${known} of ${count} already`;
  say(`${added} calls were added to ${redis === undefined ? file : `the fleet ${fleet}`}${had}`);
}

/** The rows that a store lacks: imported calls are not added a second time. */
async function missing(rows: readonly StoredRow[], store: CallBackend): Promise<readonly StoredRow[]> {
  const known = new Set<string>();
  for (const time of new Set(rows.map(([cells]) => summaryOf(cells).beginMs))) {
    for (let cursor: string | null | undefined; cursor !== null;) {
      const page = await store.list(readFilter({ since: time, until: time, limit: 200, ...(cursor && { cursor }) }));
      for (const call of page.calls) known.add(identityOf(call));
      cursor = page.cursor;
    }
  }
  return rows.filter(([cells]) => !known.has(identityOf(summaryOf(cells))));
}

/** Callers choose the ids of calls, so several calls may have the same id. */
function identityOf({ id, tenant, tool, beginMs, queueMs, wallMs, cpuMs }: CallSummary): string {
  return JSON.stringify([id, tenant, tool, beginMs, queueMs, wallMs, cpuMs]);
}

function badLine(number: number, file: string, reason: string): CliError {
  return new CliError(EXIT.INVALID, `line ${number} of ${file}: ${reason}`);
}

/** A failure of the store in its own words. */
function failed(error: unknown): unknown {
  return error instanceof Error && "problem" in error ? new CliError(EXIT.FAILED, error.message) : error;
}

/** Throws a `ProtocolError` at a line that is longer than any of an export. `pause`: after some lines. */
async function eachLine(
  file: string,
  reader: LineReader,
  read: (line: string) => void,
  pause: () => Promise<void>,
): Promise<void> {
  let last = "\n";
  for await (const chunk of createReadStream(file, "utf8") as AsyncIterable<string>) {
    reader.push(chunk, read);
    last = chunk;
    await pause();
  }
  if (!last.endsWith("\n")) reader.push("\n", read);
}

async function openFile(file: string): Promise<CallBackend> {
  const { FileCalls } = await import("../kernel/store/calls/thread/file-calls.ts");
  const secret = fileSecret();
  const settings = { path: resolve(file), ...(secret === null ? {} : { secret }), ...FOREVER };
  return FileCalls.open(settings, (reason) => say(`the store was ${reason}, and begun anew`));
}

/** Secret of a file of calls, by either of its variables; `null` for one in plain text. */
function fileSecret(): string | null {
  for (const name of ["GLOVEBOX_CALLS_SECRET", "GLOVEBOX_CALLS__SECRET"]) {
    const text = process.env[name];
    if (text === undefined || text === "") continue;
    try {
      return resolveSecret(name, text) ?? null;
    } catch (error) {
      throw new CliError(EXIT.USAGE, error instanceof Error ? error.message : `${name} is invalid`);
    }
  }
  return null;
}

async function openFleet(url: string, fleet: string): Promise<RedisKeptCalls> {
  const secret = process.env["GLOVEBOX_FLEET_SECRET"];
  if (secret === undefined) throw new CliError(EXIT.USAGE, "the fleet's calls are sealed: set GLOVEBOX_FLEET_SECRET");
  const room = { maxAgeMs: YEAR_MS, detailAgeMs: YEAR_MS, maxBytes: FOREVER.maxBytes };
  const load = () => import("../fleet/kept-calls/redis-kept-calls.ts");
  const { RedisKeptCalls: Calls } = await importOptional("calls of a fleet", ["ioredis"], load);
  return orUsage(
    Promise.try(() => {
      const sealing = resolveSecret("GLOVEBOX_FLEET_SECRET", secret) ?? secret;
      const place = { url: resolveRedisUrl("--redis", url), fleet: resolveFleetName("--fleet", fleet) };
      return Calls.open({ ...place, secret: sealing, ...room });
    }),
  );
}
