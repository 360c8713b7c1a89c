import { NOTE_EVENTS, type NotedCall, type NoteEvent } from "../../kernel/store/calls/durable/durable-step.ts";
import { SealError, type Seal } from "../redis/seal.ts";
import type { PartTexts } from "./call-rows.ts";
import type { ChangedCall, LoadedCall } from "./private-tables.ts";

/** Bits of a digest, as in the store of kept calls: 72. */
const DIGEST_CHARS = 12;

/** A call as Redis has it, with the version that its next writer must find. */
export interface StoredCall {
  readonly id: string;
  /** Empty where the call is not there. */
  readonly version: string;
  /** Versions that it had before. */
  readonly past: string;
  readonly n: number;
  readonly head: string;
  /** Empty where it was not asked for: one that is not there has another text. */
  readonly body: string;
  readonly run: string;
  /** Number of calls that it has made and that have not ended. */
  readonly made: number;
  readonly seenMs: number;
}

/** The head of a call: its rows, and the versions of its other parts, each of which is of one head only. */
interface SealedHead {
  readonly rows: string;
  readonly body: string;
  readonly run: string;
}

/** Facts of a call in a note: the call may be gone when the note is told. */
interface SealedNote extends Pick<NotedCall, "callId" | "tool" | "tenant" | "code"> {
  readonly leg: number;
}

/** A call whose seals were opened. */
export interface OpenedCall extends LoadedCall {
  readonly stored: StoredCall;
  readonly head: SealedHead;
}

/**
 * Seals of calls that wait: each part for its call, its kind and its version, so that no other part and no other call stands
 * in its place. Names of tenants and tools are digests.
 */
export class SealedCalls {
  readonly #seal: Seal;
  readonly #prefix: string;

  constructor(seal: Seal, prefix: string) {
    this.#seal = seal;
    this.#prefix = prefix;
  }

  /** Throws a `SealError` where a part is not what was stored there. */
  open(stored: StoredCall): OpenedCall {
    const { id, version, n, seenMs } = stored;
    const head = JSON.parse(this.#open("head", id, version, stored.head)) as SealedHead;
    const body = stored.body === "" ? null : this.#open("body", id, head.body, stored.body);
    const run = stored.run === "" ? null : this.#open("run", id, head.run, stored.run);
    return { id, n, parts: { head: head.rows, body, run }, seenMs, stored, head };
  }

  /** A list's entry: a head, without the rest. */
  openHead(id: string, version: string, sealed: string): PartTexts {
    const { rows } = JSON.parse(this.#open("head", id, version, sealed)) as SealedHead;
    return { head: rows, body: null, run: null };
  }

  /** The indexes of a call as JSON, its sealed parts, empty for those that stay, and a note of its state, if others are told of it. */
  close({ row, head, body, run }: ChangedCall, version: string, before: SealedHead | undefined): readonly string[] {
    const { id } = row;
    const versions = {
      body: body === null ? (before?.body ?? "") : version,
      run: run === null ? (before?.run ?? "") : version,
    };
    const text = JSON.stringify({ rows: head, ...versions } satisfies SealedHead);
    return [
      JSON.stringify(this.#indexOf(row)),
      this.#close("head", id, version, text),
      body === null ? "" : this.#close("body", id, version, body),
      run === null ? "" : this.#close("run", id, version, run),
      this.#note(row),
    ];
  }

  openNote(id: string, event: NoteEvent, sealed: string): SealedNote {
    return JSON.parse(this.#open("note", id, event, sealed)) as SealedNote;
  }

  #note({ id, state, leg, call_id: callId, tool, tenant, code }: ChangedCall["row"]): string {
    const event = NOTE_EVENTS.find((one) => one === state);
    if (event === undefined) return "";
    return this.#close("note", id, event, JSON.stringify({ leg, callId, tool, tenant, code } satisfies SealedNote));
  }

  digest(kind: "tenant" | "tool" | "script", name: string): string {
    return this.#seal.digest(`waits ${kind} ${name}`).slice(0, DIGEST_CHARS);
  }

  openScript(hash: string, sealed: string): string {
    return this.#open("script", hash, "", sealed);
  }

  closeScript(hash: string, text: string): string {
    return this.#close("script", hash, "", text);
  }

  /** What sets have of a call: it decides nothing. */
  #indexOf(row: ChangedCall["row"]): object {
    const { state, tenant, tool, holder, parent, script } = row;
    const isWaiting = state === "paused" || state === "in_doubt";
    return {
      state,
      tenant: this.digest("tenant", tenant),
      tool: this.digest("tool", tool),
      bytes: row.bytes,
      updated: row.updated_ms,
      ends: row.ends_ms,
      ...(isWaiting && row.wake_ms !== null ? { wake: row.wake_ms } : {}),
      ...(row.approval_ms === null ? {} : { approval: row.approval_ms }),
      ...(state === "running" && holder !== null ? { holder } : {}),
      ...(parent === null ? {} : { parent }),
      ...(script === null ? {} : { script: this.digest("script", script) }),
    };
  }

  #open(part: string, id: string, version: string, sealed: string): string {
    if (sealed === "") throw new SealError("it is not there");
    return this.#seal.open(sealed, this.#about(part, id, version));
  }

  #close(part: string, id: string, version: string, text: string): string {
    return this.#seal.close(text, this.#about(part, id, version));
  }

  #about(part: string, id: string, version: string): string {
    return `${this.#prefix}:${part}:${JSON.stringify([id, version])}`;
  }
}
