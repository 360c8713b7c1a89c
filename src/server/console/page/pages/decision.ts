import { signal } from "@preact/signals";
import { ApiError, messageOf, pathTo, postJson } from "../api.ts";
import { countWaiting } from "../caller.ts";
import type { DurableCall, OpenApproval } from "../durable-call.ts";
import { announce } from "../elements.tsx";
import { ArgumentsForm } from "../form/arguments-form.tsx";
import { createField } from "../form/create-field.tsx";
import type { Field } from "../form/field.tsx";
import { isRecord, type Json, listOf, recordOf, type Schema, type ToolError } from "../wire.ts";
import type { FollowedCall } from "./followed-call.ts";

/** Why a decision was not taken: an error of the server, or words. */
export type Refusal = ToolError | string;

const ACTOR = "glovebox.actor";
const FIELDS_MAX = 500;

/** A decision about what is shown: it sends the digest of that, whatever the call has become meanwhile. */
export class Decision {
  readonly #path: string;
  readonly #wait: OpenApproval;
  readonly #followed: FollowedCall;
  /** Arguments in place of those that are shown. */
  readonly form: ArgumentsForm;
  /** Data for a call that asks by itself, which may have a schema for it. */
  readonly data: Field | null;
  readonly isEdited = signal(false);
  readonly isSending = signal(false);
  readonly refusal = signal<Refusal | null>(null);
  readonly reason = signal("");
  readonly actor = signal(loadActor());

  constructor(id: string, wait: OpenApproval, followed: FollowedCall, schema: Schema) {
    this.#path = pathTo`/v1/calls/${id}/decisions`;
    this.#wait = wait;
    this.#followed = followed;
    this.form = new ArgumentsForm(schema);
    this.data = wait.tool !== null && wait.schema === null ? null : dataField(wait.schema);
  }

  /** Begins with the arguments that are shown, or leaves them as they are. */
  edit(): void {
    this.isEdited.value = !this.isEdited.value;
    if (this.isEdited.value) this.form.edit(this.#wait.arguments);
  }

  approve(): void {
    const args = this.isEdited.value ? this.form.read() : undefined;
    const data = this.data?.read();
    if (args === null || data?.kind === "wrong") return announce("The values are not complete");
    void this.#send({
      decision: "approve",
      ...(args === undefined ? {} : { arguments: args }),
      ...(data?.kind === "value" ? { data: data.value } : {}),
    });
  }

  refuse(): void {
    const reason = this.reason.value.trim();
    void this.#send({ decision: "refuse", ...(reason === "" ? {} : { reason }) });
  }

  async #send(given: Readonly<Record<string, Json>>): Promise<void> {
    const { step, digest } = this.#wait;
    const actor = this.actor.value.trim();
    saveActor(actor);
    this.isSending.value = true;
    this.refusal.value = null;
    try {
      const body = { ...given, wait: step, digest, ...(actor === "" ? {} : { actor }) };
      this.#followed.show(await postJson<DurableCall>(this.#path, body));
      announce(given["decision"] === "approve" ? "Approved" : "Refused");
      void countWaiting();
    } catch (error) {
      const { error: told, call } = error instanceof ApiError ? recordOf(error.answer) : {};
      this.refusal.value = isToolError(told) ? told : messageOf(error);
      if (isToolError(told)) this.#complain(told);
      if (isDurableCall(call)) this.#followed.hear(call);
      announce("The decision was not taken");
    } finally {
      this.isSending.value = false;
    }
  }

  /** Mistakes of arguments are shown at their fields, too. */
  #complain({ details }: ToolError): void {
    for (const one of listOf(recordOf(details)["violations"]))
      if (isRecord(one)) this.form.complain(String(one["pointer"]), String(one["message"]));
  }
}

function dataField(given: Schema | null): Field {
  const schema = given ?? { description: "What the call gets, as JSON." };
  const place = { label: "Data", schema, isRequired: given !== null, depth: 0, budget: { fields: FIELDS_MAX } };
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
