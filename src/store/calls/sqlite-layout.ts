import type { Layout } from "../sqlite/layout.ts";

/**
 * Names, keys and arguments are kept as digests. Triggers keep the books of what has ended, by tenant and in sum: a
 * tenant is there as long as it has a call that has ended. The result is a row's last column, so that what needs only
 * the others does not read through it.
 */
const LEDGER_SQL = `
  CREATE TABLE total (calls INTEGER NOT NULL, bytes INTEGER NOT NULL) STRICT;
  INSERT INTO total VALUES (0, 0);
  CREATE TABLE tenant (
    id INTEGER PRIMARY KEY,
    digest BLOB NOT NULL UNIQUE,
    calls INTEGER NOT NULL DEFAULT 0,
    bytes INTEGER NOT NULL DEFAULT 0
  ) STRICT;
  CREATE INDEX tenant_calls ON tenant (calls);
  CREATE INDEX tenant_bytes ON tenant (bytes);
  CREATE TABLE holder (
    id TEXT PRIMARY KEY,
    seen_ms INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE call (
    id INTEGER PRIMARY KEY,
    digest BLOB NOT NULL UNIQUE,
    asked BLOB NOT NULL,
    holder TEXT NOT NULL,
    may_repeat INTEGER NOT NULL,
    tenant INTEGER,
    expires_ms INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    result TEXT
  ) STRICT;
  CREATE INDEX call_expires ON call (expires_ms);
  CREATE INDEX call_tenant ON call (tenant, expires_ms) WHERE tenant IS NOT NULL;
  CREATE TRIGGER call_ended AFTER UPDATE OF tenant ON call WHEN old.tenant IS NULL AND new.tenant IS NOT NULL BEGIN
    UPDATE tenant SET calls = calls + 1, bytes = bytes + new.bytes WHERE id = new.tenant;
    UPDATE total SET calls = calls + 1, bytes = bytes + new.bytes;
  END;
  CREATE TRIGGER call_deleted AFTER DELETE ON call WHEN old.tenant IS NOT NULL BEGIN
    UPDATE tenant SET calls = calls - 1, bytes = bytes - old.bytes WHERE id = old.tenant;
    DELETE FROM tenant WHERE id = old.tenant AND calls = 0;
    UPDATE total SET calls = calls - 1, bytes = bytes - old.bytes;
  END;
`;

/** Its id reads "GbId". */
export const LEDGER_LAYOUT: Layout = { applicationId: 0x47_62_49_64, version: 1, sql: LEDGER_SQL };
