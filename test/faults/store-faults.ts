/** Faults of what a server keeps on its own disk: kept calls and the ledger of idempotency keys, the audit, temporary files. */
import { closeSync, openSync, rmSync, statSync, truncateSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fill, onDisk, remount } from "./disk.ts";
import type { RunningFault } from "./fault.ts";
import { executors } from "../processes.ts";
import type { Scene } from "./scene.ts";

const STATE = ".glovebox";
const LOGS = ["-wal", "-shm"];
const PAGE_BYTES = 4_096;

const fileOf = ({ path }: Scene): string => join(path, STATE, "calls.sqlite");

/** Harms the file while the server is away, which meets it at its start. */
async function harmAway(scene: Scene, harm: (file: string) => void): Promise<void> {
  await scene.server.end("SIGTERM");
  for (const end of LOGS) rmSync(fileOf(scene) + end, { force: true });
  harm(fileOf(scene));
  await scene.restart();
}

/** Fills the disk of a folder for a while. */
function filled(folder: string): RunningFault["bring"] {
  return async (scene) => {
    const empty = fill(scene, folder);
    return async () => empty();
  };
}

function removeFiles(scene: Scene): void {
  for (const end of ["", ...LOGS]) rmSync(fileOf(scene) + end, { force: true });
}

/** A file that is known to be a ledger: a new one is begun, and keys that it may have had are not taken until they expire. */
function damaged(name: string, what: string, harm: (file: string) => void): RunningFault {
  return {
    name,
    place: "store",
    what: `${what} Keys are kept for 5 s (\`idempotency.ttlMs\`).`,
    settings: { config: "idempotency: { ttlMs: 5000 }\n" },
    bring: async (scene) => {
      await harmAway(scene, harm);
      return null;
    },
    sees: {
      code: "store_failed",
      log: /the store of calls began another file/,
      ready: { status: 200, says: /begun anew/ },
    },
  };
}

/** Writes over pages of a file in its midst, with its size as it was. */
function overwrite(file: string): void {
  const descriptor = openSync(file, "r+");
  const pages = Math.max(2, Math.floor(statSync(file).size / PAGE_BYTES));
  for (let page = 1; page < pages; page++)
    writeSync(descriptor, Buffer.alloc(PAGE_BYTES, 0xa5), 0, PAGE_BYTES, page * PAGE_BYTES);
  closeSync(descriptor);
}

const OF_DISKS: readonly RunningFault[] = [
  {
    name: "state-disk-full",
    place: "store",
    what: "The disk of the state folder is full.",
    needs: ["root"],
    settings: onDisk(STATE),
    bring: filled(STATE),
    sees: {
      code: "store_failed",
      log: /full/,
      metric: /^glovebox_calls_store_up 0/,
      ready: { status: 200, says: /full/ },
    },
  },
  {
    name: "state-read-only",
    place: "store",
    what: "The file system of the state folder is read-only at a start.",
    needs: ["root"],
    settings: onDisk(STATE),
    bring: async (scene) => {
      await scene.server.end("SIGTERM");
      scene.write(`${STATE}.options`, "ro");
      await scene.restart();
      return async () => {
        remount(scene, STATE, "rw");
      };
    },
    sees: {
      code: "store_failed",
      log: /read-only|EROFS|cannot be opened/,
      metric: /^glovebox_calls_store_up 0/,
      ready: { status: 200, says: /problem/ },
    },
  },
  {
    name: "temporary-disk-full",
    place: "store",
    what: "The disk of temporary files is full, and executors are killed.",
    needs: ["root"],
    settings: onDisk("temporary", { env: { TMPDIR: "temporary" } }),
    bring: async (scene) => {
      const empty = fill(scene, "temporary");
      for (const pid of executors(scene.server.pid)) process.kill(pid, "SIGKILL");
      return async () => empty();
    },
    sees: { log: /an executor was lost and replaced/, lastsMs: 3_000 },
  },
  {
    name: "audit-disk-full",
    place: "store",
    what: "The disk of the audit is full for 5 s. Its entries wait in memory.",
    needs: ["root"],
    settings: onDisk("audit", { config: "audit: ./audit/audit.jsonl\n" }),
    bring: filled("audit"),
    sees: { log: /the audit's file takes no entries/, metric: /^glovebox_audit_dropped_total 0/, lastsMs: 5_000 },
  },
];

const OF_FILES: readonly RunningFault[] = [
  {
    name: "state-folder-deleted",
    place: "store",
    what: "The state folder is deleted while the server runs.",
    bring: async ({ path }) => {
      rmSync(join(path, STATE), { recursive: true });
      return null;
    },
    sees: { lastsMs: 5_000 },
  },
  {
    name: "ledger-locked",
    place: "store",
    what: "Another process has locked the file of kept calls and of idempotency keys.",
    bring: async (scene) => {
      const database = new DatabaseSync(fileOf(scene));
      database.exec("PRAGMA busy_timeout = 20000; BEGIN EXCLUSIVE");
      return async () => {
        database.exec("COMMIT");
        database.close();
      };
    },
    sees: { log: /calls cannot be kept/, metric: /^glovebox_calls_store_up 0/, ready: { status: 200, says: /store/ } },
  },
  {
    name: "ledger-overwritten",
    place: "store",
    what: "The file of kept calls and of idempotency keys is overwritten while the server runs.",
    bring: async (scene) => {
      overwrite(fileOf(scene));
      return null;
    },
    sees: { lastsMs: 5_000 },
  },
  {
    name: "ledger-garbage",
    place: "store",
    what: "The file of kept calls and of idempotency keys is something else at a start. Somebody moves it away.",
    bring: async (scene) => {
      await harmAway(scene, (file) => writeFileSync(file, "this is no database ".repeat(1_000)));
      return async () => removeFiles(scene);
    },
    sees: {
      code: "store_failed",
      log: /the store is corrupt/,
      metric: /^glovebox_calls_store_up 0/,
      ready: { status: 200, says: /corrupt/ },
    },
  },
  {
    name: "ledger-newer",
    place: "store",
    what: "A newer version has written the file of kept calls and of idempotency keys, at a start. Somebody moves it away.",
    bring: async (scene) => {
      await harmAway(scene, (file) => {
        using database = new DatabaseSync(file);
        database.exec("PRAGMA user_version = 99");
      });
      return async () => removeFiles(scene);
    },
    sees: {
      code: "store_failed",
      log: /a newer Glovebox has written it/,
      metric: /^glovebox_calls_store_up 0/,
      ready: { status: 200, says: /a newer Glovebox has written it/ },
    },
  },
  damaged("ledger-truncated", "The file of kept calls and of idempotency keys is cut to half at a start.", (file) =>
    truncateSync(file, Math.floor(statSync(file).size / 2)),
  ),
  damaged(
    "ledger-damaged",
    "Pages of the file of kept calls and of idempotency keys are damaged at a start.",
    overwrite,
  ),
];

export const STORE_FAULTS: readonly RunningFault[] = [...OF_DISKS, ...OF_FILES];
