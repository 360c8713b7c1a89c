import { useSignal } from "@preact/signals";
import { messageOf, pathTo, postJson } from "../api.ts";
import { caller } from "../caller.ts";
import type { DurableCall } from "../durable-call.ts";
import { announce, Badge, Card, Notice, Table } from "../elements.tsx";
import { addressOf } from "../router.ts";
import { Asked } from "./asked.tsx";

/** The outcome of undoing an effect of the call. */
interface Effect {
  readonly step: number;
  /** Id of the call below that did it. */
  readonly call?: string;
  readonly asked: string;
  readonly tool: string | null;
  readonly outcome: string;
  readonly message?: string;
}

interface Report {
  readonly id: string;
  readonly effects: readonly Effect[] | null;
  readonly error: { readonly message: string } | null;
}

/** Ids of calls that undo another. */
const UNDOES = /\.undo(?:\.\d)?$/;
const HEADS = ["Step", "What", "Outcome", ""];
const TONES: Readonly<Record<string, "good" | "bad">> = { undone: "good", failed: "bad", in_doubt: "bad" };

/** Undoes the effects of an ended call's tools, and shows the report. Empty if the page's key may not. */
export function UndoCard({ call: { id, state } }: { call: DurableCall }) {
  const problem = useSignal("");
  const report = useSignal<Report | null>(null);
  if (caller.value?.roles.includes("execute") === false || state !== "ended" || UNDOES.test(id)) return null;
  const undo = async (again: boolean): Promise<void> => {
    problem.value = "";
    try {
      report.value = (await postJson(`${pathTo`/v1/calls/${id}/undo`}?again=${again}`, {})) as Report;
      announce("The report is shown");
    } catch (error) {
      problem.value = messageOf(error);
    }
  };
  const shown = report.value;
  return (
    <Card heading="Undo">
      <Asked
        name="Undo its tool calls"
        question="Each is undone as its tool says, the last one first, once."
        act={() => void undo(false)}
      />
      {shown?.effects?.some(({ outcome }) => outcome === "failed") === true && (
        <Asked
          name="Try the failed ones again"
          question="Only what could not be undone is tried again."
          act={() => void undo(true)}
        />
      )}
      {shown !== null && (
        <>
          <Table
            label="Effects"
            heads={HEADS}
            items={shown.effects ?? []}
            row={({ step, call, asked, tool, outcome, message = "" }) => [
              call === undefined ? step : <a href={addressOf("approvals", call)}>{`${call} ${step}`}</a>,
              tool ?? asked,
              <Badge text={outcome} tone={TONES[outcome] ?? "plain"} />,
              message,
            ]}
            empty={shown.effects === null ? "It is not undone yet." : "It had no effects."}
          />
          <a href={addressOf("approvals", shown.id)}>The call that undoes it</a>
        </>
      )}
      <div role="status">
        {(problem.value !== "" || (shown?.error ?? null) !== null) && (
          <Notice tone="bad">{problem.value === "" ? shown?.error?.message : problem.value}</Notice>
        )}
      </div>
    </Card>
  );
}
