import { parseWithDigits } from "../../kernel/base/exact-json.ts";
import { type Seal, SealError } from "../../kernel/store/seal.ts";
import type { StoredRow } from "../../kernel/store/calls/call-lines.ts";
import type { WrittenDetail } from "../../kernel/store/calls/call-redaction.ts";
import type { CallCells, CallDetail, CallPlace, CallQuery } from "../../kernel/store/calls/call-record.ts";

/** Digits of a member's parts, in base 36: their order as texts is that of calls. */
const RADIX = 36;
const TIME_CHARS = 9;
const SEQ_CHARS = 10;
const TIME_MAX = RADIX ** TIME_CHARS - 1;
const SEQ_MAX = 2 ** 49 - 1;
/** Replaces the digest of a missing part of a call. */
const NONE = "-";
/** Replaces the code for any failure. */
const FAILED = "!";
const NAMED = ["tool", "tenant", "parent"] as const;
/** Codes of this engine; an imported call may have any. */
const CODE_FORM = /^[a-z_]{1,64}$/;

/** Places of cells in a row. */
const [ID, TOOL, TENANT, PARENT, CODE, BEGIN_MS] = [0, 1, 4, 5, 8, 10] as const;

/** A call as Redis has it. */
export interface SealedRow {
  /** Its place, as a text in the order of places. */
  readonly member: string;
  /** Its outcome and digests in plain form, by which it is found, and then its sealed cells. */
  readonly row: string;
  /** Its sealed detail, or empty. */
  readonly detail: string;
}

/** Rows that a script examines for a list, newest first. */
export interface CallRange {
  /** Names of sorted sets of which each has all calls that match. */
  readonly sets: readonly string[];
  /** Borders, as texts of Redis. */
  readonly begin: string;
  readonly end: string;
  /** First words of a row that matches; empty for any, and `!` for any failure. */
  readonly words: readonly [code: string, tool: string, tenant: string, parent: string];
}

/**
 * Forms in which Redis has calls. Times and outcomes are plain. Names are digests with the secret, and all other values
 * are sealed for their place.
 */
export class SealedRows {
  readonly #seal: Seal;
  readonly #prefix: string;

  constructor(seal: Seal, prefix: string) {
    this.#seal = seal;
    this.#prefix = prefix;
  }

  write([cells, detail]: StoredRow, seq: number): SealedRow {
    const member = memberOf([cells[BEGIN_MS], seq]);
    const parent = cells[PARENT] === null ? NONE : this.#digest("parent", cells[PARENT]);
    const names = [this.#digest("tool", cells[TOOL]), this.#digest("tenant", cells[TENANT]), parent];
    const ids = [this.idDigest(cells[ID], null), this.idDigest(cells[ID], cells[TENANT])];
    const sealed = this.#seal.close(JSON.stringify(cells), this.#about("call", member));
    return {
      member,
      row: [this.#codeWord(cells[CODE]), ...names, ...ids, sealed].join(" "),
      detail: detail === null ? "" : this.#seal.close(packed(detail), this.#about("detail", member)),
    };
  }

  /** The cells of a row. Throws a `SealError` if it differs from the stored one. */
  read(member: string, row: string): CallCells {
    const text = this.#seal.open(row.slice(row.lastIndexOf(" ") + 1), this.#about("call", member));
    return JSON.parse(text) as CallCells;
  }

  /** Whether a row can be read. */
  opens(member: string, row: string): boolean {
    try {
      this.read(member, row);
      return true;
    } catch {
      return false;
    }
  }

  /** Throws a `SealError` if it differs from the stored one. */
  readDetail(member: string, sealed: string): WrittenDetail {
    const text = this.#seal.open(sealed, this.#about("detail", member));
    const at = text.indexOf(" ");
    const end = at + 1 + Number(text.slice(0, at));
    const [json, run] = [text.slice(at + 1, end), text.slice(end)];
    return { json, run: run === "" ? null : run };
  }

  /** The digest that finds the newest call of an id: that of all tenants, or of one. */
  idDigest(id: string, tenant: string | null): string {
    return tenant === null ? this.#digest("id", id) : this.#digest("id of", JSON.stringify([tenant, id]));
  }

  rangeOf({ code, tool, tenant, parent, text, sinceMs, untilMs, after }: CallQuery): CallRange {
    const names = { tool, tenant, parent };
    const digests = NAMED.map((kind) => (names[kind] === null ? "" : this.#digest(kind, names[kind])));
    const [ofTool = "", ofTenant = "", ofParent = ""] = digests;
    // Only an error has a text.
    const outcome = code === null ? (text === null ? "" : FAILED) : this.#codeWord(code);
    const sets = NAMED.flatMap((kind, at) => (digests[at] === "" ? [] : [`${kind}:${digests[at]}`]));
    if (text !== null && (code ?? "ok") === "ok") sets.push("failed");
    else if (outcome !== "" && outcome !== "ok") sets.push(`code:${outcome}`);
    const last = memberOf([untilMs, SEQ_MAX]);
    const goesOn = after !== null && memberOf(after) < last;
    return {
      sets: sets.length === 0 ? ["all"] : sets,
      begin: goesOn ? `(${memberOf(after)}` : `[${last}`,
      end: `[${memberOf([sinceMs, 0])}`,
      words: [outcome, ofTool, ofTenant, ofParent],
    };
  }

  #codeWord(code: string): string {
    return CODE_FORM.test(code) ? code : this.#digest("code", code);
  }

  #digest(kind: string, name: string): string {
    return this.#seal.shortDigest(`${kind} ${name}`);
  }

  #about(what: string, member: string): string {
    return `${this.#prefix}:${what}:${member}`;
  }
}

/** A detail as its readers get it. */
export function shownOf({ json }: WrittenDetail): CallDetail {
  return parseWithDigits(json) as CallDetail;
}

export function isSealError(error: unknown): boolean {
  return error instanceof SealError;
}

export function memberOf([beginMs, seq]: CallPlace): string {
  const [time, number] = [Math.min(Math.max(beginMs, 0), TIME_MAX), Math.min(seq, SEQ_MAX)];
  return time.toString(RADIX).padStart(TIME_CHARS, "0") + number.toString(RADIX).padStart(SEQ_CHARS, "0");
}

export function placeOf(member: string): CallPlace {
  return [parseInt(member.slice(0, TIME_CHARS), RADIX), parseInt(member.slice(TIME_CHARS), RADIX)];
}

/** The length of the first text, then both. */
function packed({ json, run }: WrittenDetail): string {
  return `${json.length} ${json}${run ?? ""}`;
}
