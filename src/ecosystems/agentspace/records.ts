import type { DatabaseLayout } from "../../store/sqlite/layout.ts";
import type { RegistrationRecord } from "../../tool/contracts/agentspace-record.ts";
import type { ToolLocation } from "../../tool/definition.ts";
import type { Database } from "./database.ts";

/** Reason of a registry's failure. `conflict`: a tool of that id exists and must not be replaced. */
export type RegistryErrorCode = "conflict" | "not_found" | "full" | "too_large" | "closed";

/** Thrown by a registry; match on `code`. An invalid record is a `ContractError` instead. */
export class RegistryError extends Error {
  override readonly name = "RegistryError";
  readonly code: RegistryErrorCode;

  constructor(code: RegistryErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}

/** Operator's settings for a tool, beside its record. */
export type RecordGrants = Pick<ToolLocation, "capabilities" | "limits" | "isolation">;

/** A stored record. */
export interface KeptRecord {
  readonly record: RegistrationRecord;
  /** Target of the record's link: a URL, or an absolute path. */
  readonly path: string;
  readonly grants: RecordGrants;
  /** Changes each time the record is written. */
  readonly revision: number;
}

/** Existing record that may be replaced: none (`false`), any (`true`), or the one of this version. */
export type Replace = boolean | string;

/** Application id: "GbAr" in ASCII. `AUTOINCREMENT` never reuses the revision of a removed record. */
export const RECORDS_LAYOUT: DatabaseLayout = {
  applicationId: 0x47_62_41_72,
  version: 1,
  sql: `
  CREATE TABLE record (
    revision INTEGER PRIMARY KEY AUTOINCREMENT,
    tool_id TEXT NOT NULL UNIQUE,
    registered_ms INTEGER NOT NULL,
    path TEXT NOT NULL,
    grants TEXT NOT NULL,
    record TEXT NOT NULL
  ) STRICT;
`,
};

const RECORD_MAX_BYTES = 1024 * 1024;
const COLUMNS = "revision, path, grants, record";

/** Records in a database. */
export class Records {
  readonly #database: Database;
  readonly #most: number;

  constructor(database: Database, most: number) {
    this.#database = database;
    this.#most = most;
  }

  /** Stores a validated record. Throws a `RegistryError` if one exists that must not be replaced. */
  put({ record, path, grants }: Omit<KeptRecord, "revision">, replace: Replace): void {
    const { tool_id: toolId } = record;
    const text = JSON.stringify(record);
    if (Buffer.byteLength(text) > RECORD_MAX_BYTES) {
      throw new RegistryError("too_large", `the record of "${toolId}" has more than ${RECORD_MAX_BYTES} bytes`);
    }
    this.#database.write(() => {
      const old = this.get(toolId);
      if (old !== undefined) checkReplaced(old, replace);
      else if (this.#count() >= this.#most) {
        throw new RegistryError("full", `the registry keeps ${this.#most} records at most`);
      }
      this.#database.rows("DELETE FROM record WHERE tool_id = ?", toolId);
      this.#database.rows(
        "INSERT INTO record (tool_id, registered_ms, path, grants, record) VALUES (?, ?, ?, ?, ?)",
        toolId,
        Date.now(),
        path,
        JSON.stringify(grants),
        text,
      );
    });
  }

  get(toolId: string): KeptRecord | undefined {
    return this.#database.rows(`SELECT ${COLUMNS} FROM record WHERE tool_id = ?`, toolId).map(keptRecord)[0];
  }

  /** Revision of a record, which is all that most calls need. */
  revision(toolId: string): number | undefined {
    return this.#database.rows("SELECT revision FROM record WHERE tool_id = ?", toolId).map(revisionOf)[0];
  }

  /** All records, ordered by id. */
  all(): readonly KeptRecord[] {
    return this.#database.rows(`SELECT ${COLUMNS} FROM record ORDER BY tool_id`).map(keptRecord);
  }

  /** Returns whether the record existed. */
  delete(toolId: string): boolean {
    return this.#database.rows("DELETE FROM record WHERE tool_id = ? RETURNING revision", toolId).length > 0;
  }

  /** A value that changes with every write to the database, by any process. */
  state(): string {
    return this.#database.state();
  }

  #count(): number {
    return Number(this.#database.rows("SELECT count(*) AS count FROM record")[0]?.["count"]);
  }
}

function checkReplaced({ record }: KeptRecord, replace: Replace): void {
  if (replace === true) return;
  const id = record.tool_id;
  const version = record.tool_metadata?.version;
  if (replace === false) {
    throw new RegistryError("conflict", `there is a tool "${id}" already; to replace it, say so with replace`);
  }
  if (replace === version) return;
  const is = version === undefined ? "has no version" : `has the version ${version}`;
  throw new RegistryError("conflict", `the tool "${id}" ${is}, and ${replace.slice(0, 128)} was to be replaced`);
}

function revisionOf(row: Record<string, unknown>): number {
  return Number(row["revision"]);
}

/** Rows come from this class and need no validation. */
function keptRecord(row: Record<string, unknown>): KeptRecord {
  return {
    record: JSON.parse(String(row["record"])) as RegistrationRecord,
    path: String(row["path"]),
    grants: JSON.parse(String(row["grants"])) as RecordGrants,
    revision: revisionOf(row),
  };
}
