import { existsSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { EARLIER_LEDGER, TAKEN_LEDGER } from "../ledger-tables.ts";

/** Name of a store whose ledger was in a file beside it in earlier versions, and of that file. */
const STORE = "calls.sqlite";
const EARLIER = "idempotency.sqlite";

/**
 * Takes over the calls of the ledger that earlier versions had beside the store. Several processes may do so at once. A
 * process of an earlier version may have the file open: it finds no table from then on, and refuses the file, so that
 * no key has two ledgers. SQLite commits the store before the file beside it; if the machine stops between the two, the
 * calls are taken over again.
 */
export function takeEarlierLedger(database: DatabaseSync, path: string): void {
  const earlier = join(dirname(path), EARLIER);
  if (basename(path) !== STORE || !existsSync(earlier)) return;
  database.prepare("ATTACH ? AS earlier").run(earlier);
  try {
    if (!isEarlier(database)) return;
    database.exec("PRAGMA synchronous = FULL; BEGIN IMMEDIATE");
    if (isEarlier(database)) database.exec(TAKE_SQL);
    database.exec("COMMIT");
  } finally {
    if (database.isTransaction) database.exec("ROLLBACK");
    database.exec("DETACH earlier; PRAGMA synchronous = NORMAL");
  }
}

function isEarlier(database: DatabaseSync): boolean {
  const { application_id: application } = database.prepare("PRAGMA earlier.application_id").get() ?? {};
  const { user_version: version } = database.prepare("PRAGMA earlier.user_version").get() ?? {};
  return application === EARLIER_LEDGER.applicationId && version === EARLIER_LEDGER.version;
}

const COLUMNS = "digest, asked, holder, may_repeat, expires_ms, bytes, result";

/** Calls that were taken over before and have not ended are taken again: the earlier file may have their end by now. */
const TAKE_SQL = `
  INSERT OR IGNORE INTO keyed_tenant (digest) SELECT digest FROM earlier.tenant;
  INSERT OR REPLACE INTO holder SELECT id, seen_ms FROM earlier.holder;
  DELETE FROM keyed WHERE tenant IS NULL AND digest IN (SELECT digest FROM earlier.call);
  INSERT OR IGNORE INTO keyed (${COLUMNS}) SELECT ${COLUMNS} FROM earlier.call;
  UPDATE keyed SET tenant = ended.tenant FROM (
    SELECT call.digest AS digest, keyed_tenant.id AS tenant FROM earlier.call AS call
      JOIN earlier.tenant AS named ON named.id = call.tenant
      JOIN keyed_tenant ON keyed_tenant.digest = named.digest
  ) AS ended WHERE ended.digest = keyed.digest AND keyed.tenant IS NULL;
  DELETE FROM keyed_tenant WHERE calls = 0;
  DROP TABLE earlier.call;
  DROP TABLE earlier.tenant;
  DROP TABLE earlier.total;
  DROP TABLE earlier.holder;
  PRAGMA earlier.user_version = ${TAKEN_LEDGER.version};
`;
