import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { readFilter } from "../../../../src/kernel/store/calls/call-record.ts";
import { DEFAULT_KEYS } from "../../../../src/kernel/store/calls/ledger.ts";
import { CallFile } from "../../../../src/kernel/store/calls/thread/call-file.ts";
import type { FileSettings } from "../../../../src/kernel/store/calls/thread/messages.ts";
import { byLength } from "../../../length.ts";
import { rowOf } from "./kept-row.ts";
import { scratchFolder } from "./stored-calls.ts";

const PAGE_BYTES = 4_096;
/** Distance of the bytes that are tried: each of them, or one that divides no structure of a page. */
const STEP = byLength(127, 1);
/** In the head, the form in which SQLite writes: of a later one, it does not write. */
const FORM_AT = 18;
/** The page of the tables' definitions, of the rows of calls, of an index, and of details. */
const PAGES = [0, 1, 3, 8];
const PLACES = PAGES.flatMap((page) =>
  Array.from({ length: Math.ceil(PAGE_BYTES / STEP) }, (_, nth) => page * PAGE_BYTES + nth * STEP),
).concat(FORM_AT);
const DEADLINE_MS = byLength(300_000, 3_600_000);
const DETAIL = { json: '{"arguments":{"a":1}}', run: null };
const ROOM = { maxAgeMs: 1e12, detailAgeMs: 1e12, maxBytes: 64 * 1024 * 1024, keys: DEFAULT_KEYS };

const rows = (count: number, from = 0) =>
  Array.from({ length: count }, (_, at) => [rowOf({ id: `c${from + at}`, beginMs: from + at })[0], DETAIL] as const);

function isSound(path: string): boolean {
  using database = new DatabaseSync(path, { readOnly: true });
  return database.prepare("PRAGMA quick_check(1)").get()?.["quick_check"] === "ok";
}

test(
  "a file with any byte of a page flipped is read or replaced, and what comes then is kept",
  { timeout: DEADLINE_MS },
  () => {
    const folder = scratchFolder();
    const settings = (name: string): FileSettings => ({ ...ROOM, path: join(folder, name) });
    const sound = new CallFile(settings("sound"), () => undefined);
    sound.write((writer) => writer.add(rows(200)));
    sound.close();
    const bytes = readFileSync(settings("sound").path);
    let renewals = 0;
    const unseen: (readonly [at: number, found: string | undefined, isSound: boolean])[] = [];
    for (const at of PLACES) {
      // The numbers by which a file is another program's, or of another version: it is left alone.
      if (at >= 60 && at < 72) continue;
      const damaged = Buffer.from(bytes);
      damaged[at] = (damaged[at] ?? 0) ^ 0xff;
      const { path } = settings("damaged");
      for (const side of ["", "-wal", "-shm", ".corrupt"]) rmSync(path + side, { force: true });
      writeFileSync(path, damaged);
      const file = new CallFile(settings("damaged"), () => renewals++);
      file.read((reader) => reader.list(readFilter({ limit: 200 })));
      file.read((reader) => reader.get("c7", null));
      file.write((writer) => writer.add(rows(1, 1_000)));
      const found = file.read((reader) => reader.get("c1000", null))?.id;
      file.close();
      // SQLite takes a wrong number of a row in the midst of a tree as it is, until it looks at the whole file.
      if (found !== "c1000") unseen.push([at, found, isSound(path)]);
    }
    expect(renewals).toBeGreaterThan(10);
    expect(unseen.filter(([, found, sound]) => found !== undefined || sound)).toEqual([]);
    expect(unseen.length).toBeLessThanOrEqual(byLength(0, 3));
  },
);
