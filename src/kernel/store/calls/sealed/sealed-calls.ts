import { NOTE_EVENTS, type NotedCall, type NoteEvent } from "../durable/durable-step.ts";
import { SealError, type Seal } from "../../seal.ts";
import type { PartTexts } from "./call-rows.ts";
import type { ChangedCall } from "./private-tables.ts";

/** The sealed parts of a call, with the version to which its head belongs. */
export interface SealedParts {
  readonly id: string;
  readonly version: string;
  readonly head: string;
  /** Empty if it was not requested: a missing one has another text. */
  readonly body: string;
  readonly run: string;
}

/** The head of a call: its rows, and the versions of its other parts, each of which is of one head only. */
export interface SealedHead {
  readonly rows: string;
  readonly body: string;
  readonly run: string;
}

/** Facts of a call in a note: the call may be removed when the note is delivered. */
interface SealedNote extends Pick<NotedCall, "callId" | "tool" | "tenant" | "code"> {
  readonly leg: number;
}

/** The parts of a call whose head alone was read. */
export function headOnly({ rows }: SealedHead): PartTexts {
  return { head: rows, body: null, run: null };
}

/** A call whose seals were opened. */
export interface OpenedParts {
  readonly head: SealedHead;
  readonly parts: PartTexts;
}

/** The changed parts of a call; `null` for unchanged ones. `note`: of its state, empty if it is not notified. */
export interface ClosedCall {
  readonly head: string;
  readonly body: string | null;
  readonly run: string | null;
  readonly note: string;
}

/**
 * Seals of waiting calls: each part for its call, its kind and its version, so that no other part and no other call can
 * replace it. Names of tenants and tools are digests.
 */
export class SealedCalls {
  readonly #seal: Seal;
  readonly #prefix: string;

  constructor(seal: Seal, prefix: string) {
    this.#seal = seal;
    this.#prefix = prefix;
  }

  /** Throws a `SealError` if a part was changed. */
  open({ id, version, head: sealed, ...long }: SealedParts): OpenedParts {
    const head = this.openHead(id, version, sealed);
    const body = long.body === "" ? null : this.openPart("body", id, head, long.body);
    const run = long.run === "" ? null : this.openPart("run", id, head, long.run);
    return { head, parts: { head: head.rows, body, run } };
  }

  /** Throws a `SealError`. */
  openHead(id: string, version: string, sealed: string): SealedHead {
    return JSON.parse(this.#open("head", id, version, sealed)) as SealedHead;
  }

  /** A part of the call that has this head. Throws a `SealError`. */
  openPart(part: "body" | "run", id: string, head: SealedHead, sealed: string): string {
    return this.#open(part, id, head[part], sealed);
  }

  close({ row, head, body, run }: ChangedCall, version: string, before: SealedHead | undefined): ClosedCall {
    const { id } = row;
    const versions = {
      body: body === null ? (before?.body ?? "") : version,
      run: run === null ? (before?.run ?? "") : version,
    };
    const text = JSON.stringify({ rows: head, ...versions } satisfies SealedHead);
    return {
      head: this.#close("head", id, version, text),
      body: body && this.#close("body", id, version, body),
      run: run && this.#close("run", id, version, run),
      note: this.#note(row),
    };
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
    return this.#seal.shortDigest(`waits ${kind} ${name}`);
  }

  openScript(hash: string, sealed: string): string {
    return this.#open("script", hash, "", sealed);
  }

  closeScript(hash: string, text: string): string {
    return this.#close("script", hash, "", text);
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
