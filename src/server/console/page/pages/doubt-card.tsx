import { useMemo, useRef } from "preact/hooks";
import type { OpenOutcome } from "../durable-call.ts";
import { announce, Card, Notice, Part, TextView } from "../elements.tsx";
import { useKeys } from "../keys.tsx";
import { Asked } from "./asked.tsx";
import { type DecidedProps, dataField, Decision } from "./decision.ts";
import { Actor, roleObstacle, Reason, RefusalView } from "./decision-form.tsx";

type DoubtProps = DecidedProps & { readonly wait: OpenOutcome };

/** An effect with an unknown outcome, and the form to settle it. */
export function DoubtCard(props: DoubtProps) {
  const { asked, arguments: args } = props.wait;
  const obstacle = roleObstacle();
  return (
    <Card heading={`Did ${asked} happen?`.slice(0, 200)}>
      <p class="lead">
        The process of the call was lost while this was under way: look it up at the other side, and say what became of
        it.
      </p>
      <Part heading="Arguments">
        <TextView label="Arguments" text={args} isJson isWhole />
      </Part>
      {obstacle === null ? <DoubtForm {...props} /> : <Notice>{obstacle}</Notice>}
    </Card>
  );
}

function DoubtForm({ call, wait, followed, isFirst }: DoubtProps) {
  const decision = useMemo(() => new Decision(call.id, wait.step, followed), []);
  const answer = useMemo(
    () => dataField("Answer", 'What the call hears, as JSON; without one: null. Of a request: {"status": 201}.'),
    [],
  );
  const yes = useRef<HTMLButtonElement>(null);
  const no = useRef<HTMLButtonElement>(null);
  useKeys(
    isFirst
      ? { a: ["Go to “It happened”", () => yes.current?.focus()], x: ["Go to “It did not”", () => no.current?.focus()] }
      : {},
  );
  const happened = (): void => {
    const read = answer.read();
    if (read.kind === "wrong") return announce("The values are not complete");
    const given = read.kind === "value" ? { answer: read.value } : {};
    void decision.send({ decision: "happened", ...given, ...decision.given }, "It happened");
  };
  const didNotHappen = (): void =>
    void decision.send({ decision: "did_not_happen", ...decision.given }, "It did not happen");
  const isOff = decision.isSending.value;
  return (
    <div class="stack" aria-busy={isOff}>
      <RefusalView refusal={decision.refusal.value} />
      {answer.render()}
      <Reason reason={decision.reason} label="Reason" />
      <Actor decision={decision} id={`actor-${wait.step}`} />
      <Asked
        button={yes}
        name="It happened"
        question="The call goes on with this answer."
        isOff={isOff}
        act={happened}
      />
      <Asked
        button={no}
        name="It did not happen: do it now"
        question="The call does it, maybe a second time."
        isOff={isOff}
        act={didNotHappen}
      />
    </div>
  );
}
