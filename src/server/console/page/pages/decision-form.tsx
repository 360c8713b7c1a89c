import type { Signal } from "@preact/signals";
import type { Ref } from "preact";
import { useMemo, useRef } from "preact/hooks";
import { caller } from "../caller.ts";
import type { OpenApproval } from "../durable-call.ts";
import { Notice, Quiet } from "../elements.tsx";
import { type Keys, useKeys } from "../keys.tsx";
import { ErrorView } from "../result-card.tsx";
import type { Schema } from "../wire.ts";
import { ApprovalDecision } from "./approval-decision.ts";
import type { DecidedProps, Decision, Refusal } from "./decision.ts";

export type ApprovalProps = DecidedProps & { readonly wait: OpenApproval };

/** Approves, also with other arguments, or refuses. No field sends it with Enter: only its buttons do. */
export function DecisionForm({ call, wait, followed, isFirst, schema }: ApprovalProps & { readonly schema: Schema }) {
  const decision = useMemo(() => new ApprovalDecision(call.id, wait, followed, schema), []);
  const approve = useRef<HTMLButtonElement>(null);
  const reason = useRef<HTMLInputElement>(null);
  const isEdited = decision.isEdited.value;
  const isSending = decision.isSending.value;
  const keys: Keys = {
    a: ["Go to the approval", () => approve.current?.focus()],
    x: ["Go to the refusal", () => reason.current?.focus()],
    ...(wait.tool !== null && { e: ["Edit the arguments", () => decision.edit()] }),
  };
  useKeys(isFirst ? keys : {});
  return (
    <div class="stack" aria-busy={isSending}>
      {isEdited && (
        <div class="stack">
          <h3>Arguments that are to run</h3>
          <decision.form.View />
        </div>
      )}
      {decision.data?.render()}
      <RefusalView refusal={decision.refusal.value} />
      <div class="row">
        <button ref={approve} type="button" class="primary" disabled={isSending} onClick={() => decision.approve()}>
          {isEdited ? "Approve with these arguments" : "Approve"}
        </button>
        {wait.tool !== null && (
          <Quiet aria-expanded={isEdited} onClick={() => decision.edit()}>
            {isEdited ? "Leave the arguments" : "Edit the arguments"}
          </Quiet>
        )}
      </div>
      <div class="row filter">
        <Reason reason={decision.reason} label="Reason of a refusal" input={reason} />
        <Quiet disabled={isSending} onClick={() => decision.refuse()}>
          Refuse
        </Quiet>
      </div>
      <Actor decision={decision} id={`actor-${wait.step}`} />
    </div>
  );
}

interface ReasonProps {
  readonly reason: Signal<string>;
  readonly label: string;
  readonly input?: Ref<HTMLInputElement>;
}

export function Reason({ reason, label, input = null }: ReasonProps) {
  return (
    <input
      ref={input}
      aria-label={label}
      placeholder={label}
      autocomplete="off"
      maxLength={1_000}
      value={reason}
      onInput={(event) => (reason.value = event.currentTarget.value)}
    />
  );
}

export function Actor({ decision: { actor }, id }: { decision: Decision; id: string }) {
  return (
    <div class="field">
      <label for={id} class="name">
        Your name, for the record
      </label>
      <input
        id={id}
        autocomplete="off"
        maxLength={256}
        value={actor}
        onInput={(event) => (actor.value = event.currentTarget.value)}
      />
    </div>
  );
}

export function RefusalView({ refusal }: { refusal: Refusal | null }) {
  return (
    <div role="status">
      {typeof refusal === "string" && <Notice tone="bad">{refusal}</Notice>}
      {refusal !== null && typeof refusal !== "string" && <ErrorView error={refusal} />}
    </div>
  );
}

/** The reason why the page's key may decide nothing; `null` if it may, as far as the page can tell. */
export function roleObstacle(): string | null {
  const isRefused = caller.value?.roles.includes("approve") === false;
  return isRefused ? "Your key may not decide: it does not have the role approve." : null;
}
