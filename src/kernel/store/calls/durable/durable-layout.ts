import type { DurableCall, PausedCall } from "./durable-call.ts";

/** Tables of durable calls, created when they are first used. Long columns are the last, so that reading others does not read through them. */
export const DURABLE_SQL = `
  CREATE TABLE IF NOT EXISTS durable (
    n INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    tenant TEXT NOT NULL,
    tool TEXT NOT NULL,
    call_id TEXT NOT NULL,
    key TEXT,
    parent TEXT,
    parent_step INTEGER,
    state TEXT NOT NULL,
    leg INTEGER NOT NULL,
    holder TEXT,
    wake_ms INTEGER,
    own_wake_ms INTEGER,
    created_ms INTEGER NOT NULL,
    updated_ms INTEGER NOT NULL,
    ends_ms INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    script TEXT,
    result TEXT,
    record TEXT NOT NULL,
    journal TEXT NOT NULL
  ) STRICT;
  CREATE INDEX IF NOT EXISTS durable_wake ON durable (wake_ms) WHERE state = 'paused';
  CREATE INDEX IF NOT EXISTS durable_ready ON durable (tenant, updated_ms) WHERE state = 'ready';
  CREATE INDEX IF NOT EXISTS durable_running ON durable (holder) WHERE state = 'running';
  CREATE INDEX IF NOT EXISTS durable_ended ON durable (ends_ms) WHERE state = 'ended';
  CREATE INDEX IF NOT EXISTS durable_state ON durable (state, n);
  CREATE INDEX IF NOT EXISTS durable_of_tenant ON durable (tenant, state, n);
  CREATE INDEX IF NOT EXISTS durable_script_use ON durable (script) WHERE script IS NOT NULL;
  CREATE TABLE IF NOT EXISTS durable_tenant (
    tenant TEXT PRIMARY KEY, calls INTEGER NOT NULL, bytes INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TRIGGER IF NOT EXISTS durable_begun AFTER INSERT ON durable BEGIN
    INSERT INTO durable_tenant VALUES (new.tenant, 1, new.bytes)
      ON CONFLICT (tenant) DO UPDATE SET calls = calls + 1, bytes = bytes + new.bytes;
  END;
  CREATE TRIGGER IF NOT EXISTS durable_changed AFTER UPDATE OF state, bytes ON durable WHEN old.state <> 'ended' BEGIN
    UPDATE durable_tenant SET
      calls = calls - (new.state = 'ended'), bytes = bytes - old.bytes + iif(new.state = 'ended', 0, new.bytes)
      WHERE tenant = new.tenant;
    DELETE FROM durable_tenant WHERE tenant = new.tenant AND calls <= 0;
  END;
  CREATE TABLE IF NOT EXISTS durable_script (hash TEXT PRIMARY KEY, text TEXT NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS durable_holder (id TEXT PRIMARY KEY, seen_ms INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS durable_signal (
    call INTEGER NOT NULL, name TEXT NOT NULL, seq INTEGER NOT NULL, sender TEXT, payload TEXT NOT NULL,
    PRIMARY KEY (call, name, seq)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS durable_wait (
    call INTEGER NOT NULL,
    step INTEGER NOT NULL,
    state TEXT NOT NULL,
    place INTEGER,
    opened_ms INTEGER NOT NULL,
    expires_ms INTEGER,
    detail TEXT NOT NULL,
    settled TEXT,
    PRIMARY KEY (call, step)
  ) STRICT, WITHOUT ROWID;
`;

/** Columns of a call without its long ones. */
export const COLUMNS =
  "n, id, tenant, tool, call_id, key, parent, parent_step, state, leg, holder, created_ms, updated_ms, ends_ms, bytes, script";

export interface DurableRow {
  readonly n: number;
  readonly id: string;
  readonly tenant: string;
  readonly tool: string;
  readonly call_id: string;
  readonly key: string | null;
  readonly parent: string | null;
  readonly parent_step: number | null;
  readonly state: DurableCall["state"];
  readonly leg: number;
  readonly holder: string | null;
  readonly created_ms: number;
  readonly updated_ms: number;
  readonly ends_ms: number;
  readonly bytes: number;
  readonly script: string | null;
}

/** Bytes of a call besides its texts. */
const ROW_BYTES = 512;

/** Bytes for which a call that pauses counts. */
export function bytesOf({ made, journal, waits }: PausedCall, known: DurableRow | undefined): number {
  const waiting = waits.reduce((sum, wait) => sum + JSON.stringify(wait).length, 0);
  const own = made === null ? (known?.bytes ?? 0) / 2 : made.record.length;
  return Math.ceil(ROW_BYTES + own + journal.length + waiting);
}
