import { randomBytes } from "node:crypto";
import { type Seal, SealError } from "../../seal.ts";
import { type DurableRow, WEIGH_SQL } from "../durable/durable-layout.ts";
import type { DurableQuery } from "../durable/durable-step.ts";
import type { DurableRows } from "../durable/durable-rows.ts";
import type { CallRow } from "./call-rows.ts";
import type { ChangedCall, LoadedCall, StepView } from "./private-tables.ts";
import { headOnly, SealedCalls, type SealedHead } from "./sealed-calls.ts";

const VERSION_BYTES = 9;
/** Columns that indexes have in plain form, as the head has them: a changed one is detected when the call is opened. */
const INDEXED = ["parent", "state", "leg", "holder", "wake_ms", "updated_ms", "ends_ms"] as const;
const COLUMNS = `n, id, tenant, tool, script, plan AS version, record AS head, ${INDEXED.join(", ")}`;

/** A call's own row as the file has it. Names are digests. */
interface SealedRow extends Pick<CallRow, "n" | "id" | "tenant" | "tool" | "script" | (typeof INDEXED)[number]> {
  readonly version: string;
  readonly head: string;
}

/** A call of the file whose seals were opened. */
export interface OpenedCall extends LoadedCall {
  readonly head: SealedHead;
  readonly row: CallRow;
}

/**
 * Sealed calls in the tables of durable calls: the head in `record`, the body in `journal`, the run in `runs`, its
 * version in `plan`, and a note of its state in `call_id`, which a trigger copies into the notes. All other columns of
 * a row are for its indexes.
 */
export class SealedCallRows {
  readonly calls: SealedCalls;
  readonly #rows: DurableRows;

  constructor(rows: DurableRows, seal: Seal) {
    this.#rows = rows;
    this.calls = new SealedCalls(seal, "glovebox calls");
  }

  /** A call, or only its head if it has not ended. Throws a `SealError` if it was changed. */
  load(id: string, form: "head" | "whole", nowMs: number): OpenedCall | undefined {
    const stored = this.#rows.sql(`SELECT ${COLUMNS} FROM durable WHERE id = ?`).get(id) as SealedRow | undefined;
    if (stored === undefined) return undefined;
    const opened = this.#open(stored, nowMs);
    const { head, row, n } = opened;
    if (form === "head" && row.state !== "ended") return opened;
    const sql = "SELECT journal AS body, runs AS run FROM durable WHERE n = ?";
    const { body, run } = this.#rows.sql(sql).get(n) as { readonly body: string; readonly run: string };
    const long = { body: this.calls.openPart("body", id, head, body), run: this.calls.openPart("run", id, head, run) };
    return { ...opened, parts: { ...opened.parts, ...long }, seenMs: this.#seenMs(row.holder) };
  }

  /** Ids of child calls that have not ended, as far as indexes know. */
  madeBy(id: string, most: number): readonly string[] {
    const sql = "SELECT id FROM durable WHERE parent = ? AND state <> 'ended' LIMIT ?";
    return this.#rows
      .sql(sql)
      .all(id, most)
      .map((row) => String(row["id"]));
  }

  /** Numbers and heads of the calls of a list, one by one; an error in the place of one that cannot be opened. */
  *found(query: DurableQuery): Generator<readonly [n: number, call: OpenedCall | SealError]> {
    const { tenant, tool } = query;
    const digests = {
      tenant: tenant === null ? null : this.calls.digest("tenant", tenant),
      tool: tool === null ? null : this.calls.digest("tool", tool),
    };
    for (const stored of this.#rows.found({ ...query, ...digests }, COLUMNS) as Iterable<SealedRow>) {
      try {
        yield [stored.n, this.#open(stored, 0)];
      } catch (error) {
        if (!(error instanceof SealError)) throw error;
        yield [stored.n, error];
      }
    }
  }

  /** The script of a call. Throws a `SealError` if it is missing. */
  script(hash: string): StepView["script"] {
    const found = this.#rows.sql("SELECT text FROM durable_script WHERE hash = ?").get(this.#scriptDigest(hash));
    if (found === undefined) throw new SealError("its script is not there");
    return { hash, text: this.calls.openScript(hash, String(found["text"])) };
  }

  putScript({ hash, text }: NonNullable<StepView["script"]>): void {
    const digest = this.#scriptDigest(hash);
    if (this.#rows.sql("SELECT 1 FROM durable_script WHERE hash = ?").get(digest) !== undefined) return;
    this.#rows.sql("INSERT INTO durable_script VALUES (?, ?)").run(digest, this.calls.closeScript(hash, text));
  }

  /** Writes a step's changes to a call, as a version of its own. Returns its number, and the digest of its tenant. */
  put(changed: ChangedCall, before: SealedHead | undefined): Pick<DurableRow, "n" | "tenant"> {
    const { row, isNew } = changed;
    const tenant = this.calls.digest("tenant", row.tenant);
    if (isNew) this.#insert(row, tenant);
    const version = randomBytes(VERSION_BYTES).toString("base64url");
    const { head, body, run, note } = this.calls.close(changed, version, before);
    const sql = `UPDATE durable SET call_id = ?, ${INDEXED.map((column) => `${column} = ?`).join(", ")}, script = ?,
      plan = ?, record = ?, journal = coalesce(?, journal), runs = coalesce(?, runs) WHERE id = ? RETURNING n`;
    const indexes = INDEXED.map((column) => row[column]);
    const script = row.script === null ? null : this.#scriptDigest(row.script);
    const told = this.#rows.sql("SELECT 1 FROM durable_target LIMIT 1").get() === undefined ? "" : note;
    const updated = this.#rows.sql(sql).get(told, ...indexes, script, version, head, body, run, row.id);
    const { n } = updated as Pick<DurableRow, "n">;
    this.#putApproval(n, row.approval_ms);
    this.#rows.sql(WEIGH_SQL).run(n);
    return { n, tenant };
  }

  /** Ends a call that cannot be opened: only readers look at it again, and it is removed in time. */
  end(id: string, nowMs: number, keepMs: number): void {
    const sql = `UPDATE durable SET state = 'ended', holder = NULL, wake_ms = NULL,
      ends_ms = iif(state = 'ended', min(ends_ms, ?2), ?2) WHERE id = ?1 RETURNING n`;
    const ended = this.#rows.sql(sql).get(id, nowMs + keepMs) as Pick<DurableRow, "n"> | undefined;
    if (ended !== undefined) this.#putApproval(ended.n, null);
  }

  #insert({ id, tool, created_ms: createdMs }: CallRow, tenant: string): void {
    const sql = `INSERT OR IGNORE INTO durable (id, tenant, tool, call_id, state, leg, created_ms, updated_ms, ends_ms, record, runs, plan, journal)
      VALUES (?, ?, ?, '', 'running', 0, ?, 0, 0, '', '', '', '')`;
    const { changes } = this.#rows.sql(sql).run(id, tenant, this.calls.digest("tool", tool), createdMs);
    if (changes === 0) throw new SealError("a call that has ended was put in the place of an earlier one");
  }

  /** A wait without its subject, by which the oldest approval is found. */
  #putApproval(n: number, openedMs: number | null): void {
    this.#rows.sql("DELETE FROM durable_wait WHERE call = ?").run(n);
    if (openedMs === null) return;
    const sql = `INSERT INTO durable_wait (call, step, kind, state, opened_ms, detail) VALUES (?, 0, 'approval', 'open', ?, '')`;
    this.#rows.sql(sql).run(n, openedMs);
  }

  #open(stored: SealedRow, seenMs: number): OpenedCall {
    const { n, id, version, head: sealed } = stored;
    const head = this.calls.openHead(id, version, sealed);
    const { row } = JSON.parse(head.rows) as { readonly row: CallRow };
    this.#check(stored, row);
    return { id, n, parts: headOnly(head), seenMs, head, row };
  }

  #check(stored: SealedRow, row: CallRow): void {
    const script = row.script === null ? null : this.#scriptDigest(row.script);
    const isSame =
      INDEXED.every((column) => stored[column] === row[column]) &&
      stored.tenant === this.calls.digest("tenant", row.tenant) &&
      stored.tool === this.calls.digest("tool", row.tool) &&
      stored.script === script;
    if (!isSame) throw new SealError("its indexes were changed");
  }

  #seenMs(holder: string | null): number {
    const sql = "SELECT coalesce(max(seen_ms), 0) AS seenMs FROM durable_holder WHERE id = ?";
    return Number(this.#rows.sql(sql).get(holder)?.["seenMs"]);
  }

  #scriptDigest(hash: string): string {
    return this.calls.digest("script", hash);
  }
}
