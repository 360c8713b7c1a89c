import { signal } from "@preact/signals";
import { ApiError, messageOf, pathTo, postJson } from "../api.ts";
import { countWaiting } from "../caller.ts";
import type { DurableCall } from "../durable-call.ts";
import { announce } from "../elements.tsx";
import { createField } from "../form/create-field.tsx";
import type { Field } from "../form/field.tsx";
import { isRecord, type Json, recordOf, type Schema, type ToolError } from "../wire.ts";
import type { FollowedCall } from "./followed-call.ts";

/** The reason for a decision's failure: an error of the server, or words. */
export type Refusal = ToolError | string;

export interface DecidedProps {
  readonly call: DurableCall;
  readonly followed: FollowedCall;
  /** Whether the keys of the page are about this one. */
  readonly isFirst: boolean;
}

const ACTOR = "glovebox.actor";
const FIELDS_MAX = 500;

/** A decision about the displayed call, with a reason and the person's name. */
export class Decision {
  readonly #path: string;
  readonly #step: number;
  readonly #followed: FollowedCall;
  readonly isSending = signal(false);
  readonly refusal = signal<Refusal | null>(null);
  readonly reason = signal("");
  readonly actor = signal(loadActor());

  constructor(id: string, step: number, followed: FollowedCall) {
    this.#path = pathTo`/v1/calls/${id}/decisions`;
    this.#step = step;
    this.#followed = followed;
  }

  /** The reason, if there is one, as a member of a decision. */
  get given(): { readonly reason?: string } {
    const reason = this.reason.value.trim();
    return reason === "" ? {} : { reason };
  }

  /** `done`: the announcement. */
  async send(decision: Readonly<Record<string, Json>>, done: string): Promise<void> {
    const actor = this.actor.value.trim();
    saveActor(actor);
    this.isSending.value = true;
    this.refusal.value = null;
    try {
      const body = { ...decision, wait: this.#step, ...(actor === "" ? {} : { actor }) };
      this.#followed.show(await postJson<DurableCall>(this.#path, body));
      announce(done);
      void countWaiting();
    } catch (error) {
      const { error: told, call } = error instanceof ApiError ? recordOf(error.answer) : {};
      this.refusal.value = isToolError(told) ? told : messageOf(error);
      if (isToolError(told)) this.complain(told);
      if (isDurableCall(call)) this.#followed.hear(call);
      announce("The decision was not taken");
    } finally {
      this.isSending.value = false;
    }
  }

  /** Shows mistakes of values at their fields. */
  protected complain(_error: ToolError): void {}
}

/** A field for any value, or for one with a schema, which is required then. */
export function dataField(label: string, description: string, given: Schema | null = null): Field {
  const schema = given ?? { description };
  const place = { label, schema, isRequired: given !== null, depth: 0, budget: { fields: FIELDS_MAX } };
  return createField({ ...place, root: schema, make: createField });
}

function isToolError(value: unknown): value is ToolError {
  return isRecord(value) && typeof value["code"] === "string" && typeof value["message"] === "string";
}

function isDurableCall(value: unknown): value is DurableCall {
  return isRecord(value) && Array.isArray(value["waits"]);
}

function loadActor(): string {
  try {
    return localStorage.getItem(ACTOR) ?? "";
  } catch {
    return "";
  }
}

function saveActor(actor: string): void {
  try {
    localStorage.setItem(ACTOR, actor);
  } catch {
    // Without storage the name lasts as long as the form.
  }
}
