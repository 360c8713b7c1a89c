/** Maximum number of notes; beyond it, the oldest are removed. */
export const NOTES_MAX = 10_000;
/** Time after the last naming of a target by an engine for which notes are written for it. */
export const TARGET_LOST_MS = 24 * 60 * 60 * 1_000;

/** The code of an ended call, as SQL: of a row of `durable`, by its name. */
export function codeSql(row: string): string {
  const code = `coalesce(json_extract(${row}.result, '$.error.code'), 'ok')`;
  return `iif(${row}.state = 'ended' AND json_valid(${row}.result), ${code}, NULL)`;
}

const STALE = `(SELECT max(n) FROM durable_note) - ${NOTES_MAX}`;

/**
 * Targets of notifications about calls. A trigger writes the notes, so that each is in the transaction of the change
 * that it reports, in all processes. A note has the names of the call, as it may outlive the call. Numbers of notes are
 * never reused, so that the end of an earlier note cannot end a later one.
 */
export const NOTES_SQL = `
  CREATE TABLE durable_target (
    id TEXT PRIMARY KEY, events TEXT NOT NULL, seen_ms INTEGER NOT NULL, dropped INTEGER NOT NULL DEFAULT 0
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE durable_note (
    n INTEGER PRIMARY KEY AUTOINCREMENT,
    call INTEGER NOT NULL,
    target TEXT NOT NULL,
    event TEXT NOT NULL,
    leg INTEGER NOT NULL,
    id TEXT NOT NULL,
    call_id TEXT NOT NULL,
    tool TEXT NOT NULL,
    tenant TEXT NOT NULL,
    code TEXT,
    made_ms INTEGER NOT NULL,
    due_ms INTEGER NOT NULL,
    tries INTEGER NOT NULL DEFAULT 0,
    UNIQUE (call, event, target)
  ) STRICT;
  CREATE INDEX durable_note_due ON durable_note (target, due_ms);
  CREATE TRIGGER durable_told AFTER UPDATE OF state ON durable
    WHEN new.state <> old.state AND new.state IN ('paused', 'in_doubt', 'ended') AND EXISTS (SELECT 1 FROM durable_target)
  BEGIN
    DELETE FROM durable_note WHERE call = new.n AND event = new.state;
    INSERT INTO durable_note (call, target, event, leg, id, call_id, tool, tenant, code, made_ms, due_ms)
      SELECT new.n, durable_target.id, new.state, new.leg, new.id, new.call_id, new.tool, new.tenant,
        ${codeSql("new")},
        new.updated_ms, new.updated_ms
      FROM durable_target WHERE instr(events, ' ' || new.state || ' ') > 0 AND seen_ms > new.updated_ms - ${TARGET_LOST_MS};
    UPDATE durable_target SET dropped = dropped + (SELECT count(*) FROM durable_note WHERE target = durable_target.id AND n <= ${STALE})
      WHERE EXISTS (SELECT 1 FROM durable_note WHERE n <= ${STALE});
    DELETE FROM durable_note WHERE n <= ${STALE};
  END;
`;
