import { signal } from "@preact/signals";
import type { OpenApproval } from "../durable-call.ts";
import { announce } from "../elements.tsx";
import { ArgumentsForm } from "../form/arguments-form.tsx";
import type { Field } from "../form/field.tsx";
import { isRecord, listOf, recordOf, type Schema, type ToolError } from "../wire.ts";
import { dataField, Decision } from "./decision.ts";
import type { FollowedCall } from "./followed-call.ts";

/** A decision about an approval: it sends the digest of the displayed call, which may have changed meanwhile. */
export class ApprovalDecision extends Decision {
  readonly #wait: OpenApproval;
  /** Arguments in place of those that are shown. */
  readonly form: ArgumentsForm;
  /** Data for a call that itself requests the approval, and may have a schema for the data. */
  readonly data: Field | null;
  readonly isEdited = signal(false);

  constructor(id: string, wait: OpenApproval, followed: FollowedCall, schema: Schema) {
    super(id, wait.step, followed);
    this.#wait = wait;
    this.form = new ArgumentsForm(schema);
    const isAsked = wait.tool === null || wait.schema !== null;
    this.data = isAsked ? dataField("Data", "What the call gets, as JSON.", wait.schema) : null;
  }

  /** Begins with the displayed arguments, or leaves them unchanged. */
  edit(): void {
    this.isEdited.value = !this.isEdited.value;
    if (this.isEdited.value) this.form.edit(this.#wait.arguments);
  }

  approve(): void {
    const { digest } = this.#wait;
    const args = this.isEdited.value ? this.form.read() : undefined;
    const data = this.data?.read();
    if (args === null || data?.kind === "wrong") return announce("The values are not complete");
    const edited = args === undefined ? {} : { arguments: args };
    const brought = data?.kind === "value" ? { data: data.value } : {};
    void this.send({ decision: "approve", digest, ...edited, ...brought }, "Approved");
  }

  refuse(): void {
    const { digest } = this.#wait;
    void this.send({ decision: "refuse", digest, ...this.given }, "Refused");
  }

  protected override complain({ details }: ToolError): void {
    for (const one of listOf(recordOf(details)["violations"]))
      if (isRecord(one)) this.form.complain(String(one["pointer"]), String(one["message"]));
  }
}
