import { parseWritten } from "../../kernel/base/exact-json.ts";
import { writeJson } from "../../kernel/base/json-writer.ts";
import type { DatabaseLayout } from "../../kernel/store/sqlite/layout.ts";
import type { RegistrationRecord } from "./contract/record.ts";
import type { ToolLocation } from "../../kernel/tool/definition.ts";
import type { Database } from "./database.ts";
import type { IndexedRecord } from "./search/record-index.ts";
import { type RecordSummary, type Registration, type SummarizedRecord, summaryOf, wordsOf } from "./summary.ts";

/** Reason of a registry's failure. `conflict`: a tool of that id exists and must not be replaced. */
export type RegistryErrorCode = "conflict" | "not_found" | "full" | "too_large" | "busy" | "closed";

/** Thrown by a registry; match on `code`. An invalid record is a `ContractError` instead. */
export class RegistryError extends Error {
  override readonly name = "RegistryError";
  readonly code: RegistryErrorCode;

  constructor(code: RegistryErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}

/** Operator's settings for a tool, in addition to its record. */
export type RecordGrants = Pick<ToolLocation, "capabilities" | "limits" | "isolation">;

/** A version of a record, as it was registered; `in_force` for the one that calls use. */
export interface RecordVersion {
  readonly revision: number;
  /** `tool_metadata.version`. */
  readonly version?: string;
  readonly registered_by: string;
  readonly registered_at: string;
  readonly in_force: boolean;
}

/** A stored record. */
export interface KeptRecord {
  readonly record: RegistrationRecord;
  /** Target of the record's link: a URL, the place of an upload, or an absolute path. */
  readonly path: string;
  readonly grants: RecordGrants;
  /** The tenant that has the record; "" for all tenants. */
  readonly tenant: string;
  readonly registration: Registration;
}

/** A record to be stored. */
export interface NewRecord extends Omit<KeptRecord, "registration"> {
  readonly registeredBy: string;
}

/** Existing record that may be replaced: none (`false`), any (`true`), or the one of this version. */
export type Replace = boolean | string;

/** Application id: "GbAr" in ASCII. `AUTOINCREMENT` never reuses the revision of a removed record. */
export const RECORDS_LAYOUT: DatabaseLayout = {
  applicationId: 0x47_62_41_72,
  version: 2,
  sql: `
  CREATE TABLE record (
    revision INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant TEXT NOT NULL,
    tool_id TEXT NOT NULL,
    created_ms INTEGER NOT NULL,
    registered_ms INTEGER NOT NULL,
    registered_by TEXT NOT NULL,
    path TEXT NOT NULL,
    grants TEXT NOT NULL,
    summary TEXT NOT NULL,
    words TEXT NOT NULL,
    record TEXT NOT NULL,
    UNIQUE (tenant, tool_id)
  ) STRICT;
  CREATE TABLE version (
    revision INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    tool_id TEXT NOT NULL,
    version TEXT,
    registered_ms INTEGER NOT NULL,
    registered_by TEXT NOT NULL
  ) STRICT;
  CREATE INDEX version_of_tool ON version (tenant, tool_id);
`,
};

const RECORD_MAX_BYTES = 1024 * 1024;
/** Maximum number of versions of a record of which something is kept; the oldest go first. */
const VERSIONS_MAX = 50;
/** Part of the records that one tenant may have, which leaves room for others. */
const TENANT_SHARE = 1 / 4;
const COLUMNS = "revision, tenant, created_ms, registered_ms, registered_by, path, grants, record";
/** A tenant's own record takes precedence over that of all tenants with the same id. */
const VISIBLE = "tenant IN (?, '')";

/** Records in a database. A tenant's are its own and those of all tenants (""). */
export class Records {
  readonly #database: Database;
  readonly #most: number;

  constructor(database: Database, most: number) {
    this.#database = database;
    this.#most = most;
  }

  /** Stores a validated record. Throws a `RegistryError` if one exists that must not be replaced. */
  put(given: NewRecord, replace: Replace): KeptRecord {
    const { record, path, grants, tenant, registeredBy } = given;
    const { tool_id: toolId, tool_metadata: metadata } = record;
    const text = writeJson(record) ?? "";
    if (Buffer.byteLength(text) > RECORD_MAX_BYTES) {
      throw new RegistryError("too_large", `the record of "${toolId}" has more than ${RECORD_MAX_BYTES} bytes`);
    }
    return this.#database.write(() => {
      const old = this.get(toolId, tenant);
      if (old !== undefined) checkReplaced(old, tenant, replace);
      else this.#requireRoom(tenant);
      const [former] = this.#database.rows(
        "DELETE FROM record WHERE tenant = ? AND tool_id = ? RETURNING created_ms",
        tenant,
        toolId,
      );
      const nowMs = Date.now();
      const [row] = this.#database.rows(
        `INSERT INTO record (tenant, tool_id, created_ms, registered_ms, registered_by, path, grants, summary, words, record)
          VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING ${COLUMNS}`,
        tenant,
        toolId,
        Number(former?.["created_ms"] ?? nowMs),
        nowMs,
        registeredBy,
        path,
        JSON.stringify(grants),
        writeJson(summaryOf(record)) ?? "",
        JSON.stringify(wordsOf(record)),
        text,
      );
      const kept = keptRecord(row ?? {});
      this.#keepVersion(kept, metadata?.version ?? null, nowMs);
      return kept;
    });
  }

  /** The record that a tenant's call finds. */
  get(toolId: string, tenant: string): KeptRecord | undefined {
    const sql = `SELECT ${COLUMNS} FROM record WHERE ${VISIBLE} AND tool_id = ? ORDER BY tenant DESC LIMIT 1`;
    return this.#database.rows(sql, tenant, toolId).map(keptRecord)[0];
  }

  /** Revision and owner of a record, which is all that most calls need. */
  place(toolId: string, tenant: string): Pick<IndexedRecord, "revision" | "tenant"> | undefined {
    const sql = `SELECT revision, tenant FROM record WHERE ${VISIBLE} AND tool_id = ? ORDER BY tenant DESC LIMIT 1`;
    const [row] = this.#database.rows(sql, tenant, toolId);
    return row && { revision: revisionOf(row), tenant: String(row["tenant"]) };
  }

  /** All records of a tenant, ordered by id. */
  all(tenant: string): readonly KeptRecord[] {
    const sql = `SELECT ${COLUMNS} FROM record WHERE ${VISIBLE} ORDER BY tool_id, tenant DESC`;
    return this.#database
      .rows(sql, tenant)
      .map(keptRecord)
      .filter(({ record }, at, rows) => rows[at - 1]?.record.tool_id !== record.tool_id);
  }

  /** Some summaries of a tenant's records, ordered by id, after that of an id. */
  summariesAfter(toolId: string, tenant: string, most: number): readonly RecordSummary[] {
    const sql = `SELECT ${COLUMNS_OF_SUMMARY} FROM record WHERE ${VISIBLE} AND tool_id > ? ORDER BY tool_id, tenant DESC LIMIT ?`;
    return this.#database
      .rows(sql, tenant, toolId, most)
      .map(keptSummary)
      .filter(({ tool_id: id }, at, rows) => rows[at - 1]?.tool_id !== id);
  }

  /** The summary of a revision, if it is still in force. */
  summaryAt(revision: number): RecordSummary | undefined {
    const sql = `SELECT ${COLUMNS_OF_SUMMARY} FROM record WHERE revision = ?`;
    return this.#database.rows(sql, revision).map(keptSummary)[0];
  }

  recordAt(revision: number): KeptRecord | undefined {
    return this.#database.rows(`SELECT ${COLUMNS} FROM record WHERE revision = ?`, revision).map(keptRecord)[0];
  }

  /** Records of all tenants for the search's index, ordered by revision, after a revision. */
  indexedAfter(revision: number, most: number): readonly IndexedRecord[] {
    const sql = "SELECT revision, tenant, summary, words FROM record WHERE revision > ? ORDER BY revision LIMIT ?";
    return this.#database.rows(sql, revision, most).map((row) => ({
      revision: revisionOf(row),
      tenant: String(row["tenant"]),
      summary: String(row["summary"]),
      words: String(row["words"]),
    }));
  }

  /** Versions of a record, the latest first. */
  versions(toolId: string, tenant: string): readonly RecordVersion[] {
    const place = this.place(toolId, tenant);
    if (place === undefined) return [];
    const sql = "SELECT * FROM version WHERE tenant = ? AND tool_id = ? ORDER BY revision DESC";
    return this.#database.rows(sql, place.tenant, toolId).map((row) => ({
      revision: revisionOf(row),
      ...(typeof row["version"] === "string" ? { version: row["version"] } : {}),
      registered_by: String(row["registered_by"]),
      registered_at: timeOf(row["registered_ms"]),
      in_force: revisionOf(row) === place.revision,
    }));
  }

  /** Removes a tenant's own record, and its versions. Returns whether it existed. */
  delete(toolId: string, tenant: string): boolean {
    return this.#database.write(() => {
      this.#database.rows("DELETE FROM version WHERE tenant = ? AND tool_id = ?", tenant, toolId);
      const sql = "DELETE FROM record WHERE tenant = ? AND tool_id = ? RETURNING revision";
      return this.#database.rows(sql, tenant, toolId).length > 0;
    });
  }

  /** The highest revision in force; 0 without any. */
  latest(): number {
    return Number(this.#database.rows("SELECT max(revision) AS latest FROM record")[0]?.["latest"]);
  }

  count(): number {
    return Number(this.#database.rows("SELECT count(*) AS count FROM record")[0]?.["count"]);
  }

  #requireRoom(tenant: string): void {
    if (this.count() >= this.#most) {
      throw new RegistryError("full", `the registry keeps ${this.#most} records at most`);
    }
    if (tenant === "") return;
    const share = Math.ceil(this.#most * TENANT_SHARE);
    const [row] = this.#database.rows("SELECT count(*) AS count FROM record WHERE tenant = ?", tenant);
    if (Number(row?.["count"]) >= share) {
      throw new RegistryError("full", `the registry keeps ${share} records of a tenant at most`);
    }
  }

  #keepVersion({ record, tenant, registration }: KeptRecord, version: string | null, nowMs: number): void {
    const { tool_id: toolId } = record;
    const { revision, registered_by: by } = registration;
    const insert = "INSERT INTO version VALUES (?, ?, ?, ?, ?, ?)";
    this.#database.rows(insert, revision, tenant, toolId, version, nowMs, by);
    const prune = `DELETE FROM version WHERE revision IN
      (SELECT revision FROM version WHERE tenant = ? AND tool_id = ? ORDER BY revision DESC LIMIT -1 OFFSET ?)`;
    this.#database.rows(prune, tenant, toolId, VERSIONS_MAX);
  }
}

const COLUMNS_OF_SUMMARY = "revision, tenant, created_ms, registered_ms, registered_by, summary";

function checkReplaced({ record, tenant: owner }: KeptRecord, tenant: string, replace: Replace): void {
  const id = record.tool_id;
  if (owner !== tenant) {
    throw new RegistryError("conflict", `"${id}" is the id of a tool of all tenants; choose another one`);
  }
  if (replace === true) return;
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

function timeOf(ms: unknown): string {
  return new Date(Number(ms)).toISOString();
}

function registrationOf(row: Record<string, unknown>): Registration {
  return {
    registered_by: String(row["registered_by"]),
    created_at: timeOf(row["created_ms"]),
    updated_at: timeOf(row["registered_ms"]),
    revision: revisionOf(row),
  };
}

/** Rows come from this class and need no validation. */
function keptRecord(row: Record<string, unknown>): KeptRecord {
  return {
    record: parseWritten(String(row["record"])) as RegistrationRecord,
    path: String(row["path"]),
    grants: JSON.parse(String(row["grants"])) as RecordGrants,
    tenant: String(row["tenant"]),
    registration: registrationOf(row),
  };
}

function keptSummary(row: Record<string, unknown>): RecordSummary {
  const summary = parseWritten(String(row["summary"])) as SummarizedRecord;
  return { ...summary, registration: registrationOf(row) };
}
