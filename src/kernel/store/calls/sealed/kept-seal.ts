import { SealError, type Seal } from "../../seal.ts";
import type { StoredRow } from "../call-lines.ts";
import type { CallCells, CallQuery } from "../call-record.ts";
import type { WrittenDetail } from "../call-redaction.ts";

/** Codes of this engine; an imported call may have any. */
const CODE_FORM = /^[a-z_]{1,64}$/;

/** The values by which a row is found in its file. */
type RowNames = { readonly id: string; readonly beginMs: number };

/**
 * Kept calls in the form of their file: times and outcomes are plain, ids and names are digests, and all cells are
 * sealed in the place of the surface, for this id and time.
 */
export class KeptSeal {
  readonly #seal: Seal;

  constructor(seal: Seal) {
    this.#seal = seal;
  }

  close([cells, detail]: StoredRow): StoredRow {
    const [id, tool, , , tenant, parentId, , , code, , beginMs] = cells;
    const names = { id: this.#idOf(id), beginMs };
    const sealed = this.#seal.close(JSON.stringify(cells), aboutOf("call", names));
    const parent = parentId === null ? null : this.#idOf(parentId);
    const [ofTool, ofTenant] = [this.#digest("tool", tool), this.#digest("tenant", tenant)];
    const row: CallCells = [
      names.id,
      ofTool,
      null,
      null,
      ofTenant,
      parent,
      sealed,
      null,
      this.#codeOf(code),
      null,
      beginMs,
      0,
      0,
      0,
      0,
      0,
      0,
    ];
    return [
      row,
      detail && {
        json: this.#seal.close(detail.json, aboutOf("detail", names)),
        run: detail.run && this.#seal.close(detail.run, aboutOf("run", names)),
      },
    ];
  }

  /** Throws a `SealError` if a row was changed. */
  open([id, tool, , , tenant, parent, sealed, , code, , beginMs]: CallCells): CallCells {
    const cells = JSON.parse(this.#seal.open(sealed, aboutOf("call", { id, beginMs }))) as CallCells;
    const [, , , , , parentId] = cells;
    const names = [this.#digest("tool", cells[1]), this.#digest("tenant", cells[4]), this.#codeOf(cells[8])];
    const isSame = names.every((name, at) => name === [tool, tenant, code][at]);
    if (!isSame || parent !== (parentId === null ? null : this.#idOf(parentId)))
      throw new SealError("its indexes were changed");
    return cells;
  }

  /** Throws a `SealError` if it is not the detail of this row. */
  openDetail([id, , , , , , , , , , beginMs]: CallCells, { json, run }: WrittenDetail): WrittenDetail {
    const names = { id, beginMs };
    return {
      json: this.#seal.open(json, aboutOf("detail", names)),
      run: run && this.#seal.open(run, aboutOf("run", names)),
    };
  }

  /** The same query in terms of the rows in the file. */
  queryOf({ tool, tenant, parent, code, ...query }: CallQuery): CallQuery {
    return {
      ...query,
      tool: tool && this.#digest("tool", tool),
      tenant: tenant === null ? null : this.#digest("tenant", tenant),
      parent: parent && this.#idOf(parent),
      code: code && this.#codeOf(code),
    };
  }

  /** The names by which the newest call of an id is found, of all tenants or of one. */
  namesOf(id: string, tenant: string | null): readonly string[] {
    return tenant === null ? [this.#idOf(id)] : [this.#idOf(id), this.#digest("tenant", tenant)];
  }

  #idOf(id: string): string {
    return this.#digest("id", id);
  }

  #codeOf(code: string): string {
    return CODE_FORM.test(code) ? code : this.#digest("code", code);
  }

  #digest(kind: string, name: string): string {
    return this.#seal.shortDigest(`kept ${kind} ${name}`);
  }
}

function aboutOf(what: string, { id, beginMs }: RowNames): string {
  return `glovebox calls:${what}:${id} ${beginMs}`;
}
