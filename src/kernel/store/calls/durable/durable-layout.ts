import type { DurableCall } from "./durable-call.ts";
import { NOTES_SQL } from "./outbox-tables.ts";
import { RUNS_SQL } from "./past-runs.ts";
import { SNIPPETS_SQL } from "./snippet-tables.ts";

/** By the clock: it has all columns that a look reads of calls that are not settled in their turn yet. */
const WAKE_SQL = "CREATE INDEX durable_wake ON durable (wake_ms, tenant, state) WHERE state IN ('paused', 'in_doubt');";
const APPROVAL_SQL =
  "CREATE INDEX durable_approval ON durable_wait (opened_ms) WHERE kind = 'approval' AND state = 'open';";
/** Upgrades the tables of version 5 of the file, and of version 6. */
export const FROM_5_SQL = `DROP INDEX durable_wake; ${WAKE_SQL} ${APPROVAL_SQL} ${SNIPPETS_SQL} ${RUNS_SQL}`;
export { RUNS_SQL as FROM_6_SQL } from "./past-runs.ts";

/**
 * Tables of durable calls. `bytes` is the size that a call counts for, in its tenant's books and in the total. Long
 * columns are the last, so that reading others does not read through them.
 */
export const DURABLE_SQL = `
  CREATE TABLE durable (
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
    unrun INTEGER NOT NULL DEFAULT 0,
    lost INTEGER NOT NULL DEFAULT 0,
    undoes INTEGER NOT NULL DEFAULT 0,
    holder TEXT,
    wake_ms INTEGER,
    own_wake_ms INTEGER,
    created_ms INTEGER NOT NULL,
    updated_ms INTEGER NOT NULL,
    ends_ms INTEGER NOT NULL,
    bytes INTEGER NOT NULL DEFAULT 0,
    script TEXT,
    result TEXT,
    record TEXT NOT NULL,
    runs TEXT NOT NULL,
    plan TEXT NOT NULL,
    journal TEXT NOT NULL
  ) STRICT;
  ${WAKE_SQL}
  CREATE INDEX durable_ready ON durable (tenant, updated_ms) WHERE state = 'ready';
  CREATE INDEX durable_running ON durable (holder) WHERE state = 'running';
  CREATE INDEX durable_ended ON durable (ends_ms) WHERE state = 'ended';
  CREATE INDEX durable_kept ON durable (tenant, ends_ms) WHERE state = 'ended';
  CREATE INDEX durable_state ON durable (state, n);
  CREATE INDEX durable_of_tenant ON durable (tenant, state, n);
  CREATE INDEX durable_of_parent ON durable (parent) WHERE parent IS NOT NULL;
  CREATE INDEX durable_script_use ON durable (script) WHERE script IS NOT NULL;
  CREATE TABLE durable_total (id INTEGER PRIMARY KEY CHECK (id = 1), bytes INTEGER NOT NULL) STRICT;
  INSERT INTO durable_total VALUES (1, 0);
  CREATE TABLE durable_tenant (
    tenant TEXT PRIMARY KEY,
    calls INTEGER NOT NULL, bytes INTEGER NOT NULL, ended INTEGER NOT NULL, ended_bytes INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TRIGGER durable_begun AFTER INSERT ON durable BEGIN
    INSERT INTO durable_tenant VALUES (new.tenant, 1, new.bytes, 0, 0)
      ON CONFLICT (tenant) DO UPDATE SET calls = calls + 1, bytes = bytes + new.bytes;
    UPDATE durable_total SET bytes = bytes + new.bytes;
  END;
  CREATE TRIGGER durable_changed AFTER UPDATE OF state, bytes ON durable BEGIN
    UPDATE durable_tenant SET
      calls = calls + (new.state <> 'ended') - (old.state <> 'ended'),
      bytes = bytes + iif(new.state = 'ended', 0, new.bytes) - iif(old.state = 'ended', 0, old.bytes),
      ended = ended + (new.state = 'ended') - (old.state = 'ended'),
      ended_bytes = ended_bytes + iif(new.state = 'ended', new.bytes, 0) - iif(old.state = 'ended', old.bytes, 0)
      WHERE tenant = new.tenant;
    UPDATE durable_total SET bytes = bytes + new.bytes - old.bytes;
  END;
  CREATE TRIGGER durable_gone AFTER DELETE ON durable BEGIN
    UPDATE durable_tenant SET ended = ended - 1, ended_bytes = ended_bytes - old.bytes WHERE tenant = old.tenant;
    DELETE FROM durable_tenant WHERE tenant = old.tenant AND calls = 0 AND ended = 0;
    UPDATE durable_total SET bytes = bytes - old.bytes;
    DELETE FROM durable_wait WHERE call = old.n;
    DELETE FROM durable_signal WHERE call = old.n;
    DELETE FROM durable_line WHERE call = old.n;
    DELETE FROM durable_script WHERE hash = old.script AND NOT EXISTS (SELECT 1 FROM durable WHERE script = old.script);
  END;
  CREATE TABLE durable_script (hash TEXT PRIMARY KEY, text TEXT NOT NULL) STRICT;
  CREATE TRIGGER durable_script_new AFTER INSERT ON durable_script BEGIN
    UPDATE durable_total SET bytes = bytes + octet_length(new.text);
  END;
  CREATE TRIGGER durable_script_gone AFTER DELETE ON durable_script BEGIN
    UPDATE durable_total SET bytes = bytes - octet_length(old.text);
  END;
  CREATE TABLE durable_holder (id TEXT PRIMARY KEY, seen_ms INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE durable_signal (
    call INTEGER NOT NULL, name TEXT NOT NULL, seq INTEGER NOT NULL, sender TEXT, payload TEXT NOT NULL,
    PRIMARY KEY (call, name, seq)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE durable_line (
    call INTEGER NOT NULL, seq INTEGER NOT NULL, begins INTEGER, part TEXT,
    PRIMARY KEY (call, seq)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE durable_wait (
    call INTEGER NOT NULL,
    step INTEGER NOT NULL,
    kind TEXT NOT NULL,
    state TEXT NOT NULL,
    place INTEGER,
    opened_ms INTEGER NOT NULL,
    expires_ms INTEGER,
    detail TEXT NOT NULL,
    settled TEXT,
    PRIMARY KEY (call, step, kind)
  ) STRICT, WITHOUT ROWID;
  ${APPROVAL_SQL}
  ${NOTES_SQL}
  ${SNIPPETS_SQL}
  ${RUNS_SQL}
`;

/** Columns of a call without its long ones. */
export const COLUMNS =
  "n, id, tenant, tool, call_id, key, parent, parent_step, state, leg, unrun, lost, undoes, holder, created_ms, updated_ms, ends_ms, bytes, script";

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
  /** Its last run; each has its own number, also one that never began. */
  readonly leg: number;
  /** Number of runs that never began. */
  readonly unrun: number;
  /** Number of runs since its last pause that were lost. */
  readonly lost: number;
  /** Whether it is undone if it ends with an error: 1, or 0. */
  readonly undoes: number;
  readonly holder: string | null;
  readonly created_ms: number;
  readonly updated_ms: number;
  readonly ends_ms: number;
  readonly bytes: number;
  readonly script: string | null;
}

/** Bytes of a call, and of a wait or a run, besides their texts. */
const ROW_BYTES = 512;
const WAIT_BYTES = 128;

/** Counts the bytes of a call. A text's length is read without the text. */
export const WEIGH_SQL = `UPDATE durable SET bytes = ${ROW_BYTES}
  + octet_length(record) + octet_length(runs) + octet_length(plan) + octet_length(journal) + coalesce(octet_length(result), 0)
  + (SELECT coalesce(sum(${WAIT_BYTES} + octet_length(detail) + coalesce(octet_length(settled), 0)), 0)
      FROM durable_wait WHERE call = n)
  + (SELECT coalesce(sum(${WAIT_BYTES} + octet_length(payload)), 0) FROM durable_signal WHERE call = n)
  + (SELECT coalesce(sum(${WAIT_BYTES} + coalesce(octet_length(part), 0)), 0) FROM durable_line WHERE call = n)
  + (SELECT ${WAIT_BYTES} * count(*) FROM durable_run WHERE call = n)
  WHERE n = ?`;
