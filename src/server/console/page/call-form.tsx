import { signal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { type CallBody, getJson, pathTo } from "./api.ts";
import { CallOptions } from "./call-options.tsx";
import { CopyButton, SNIPPETS } from "./clipboard.tsx";
import { announce, Card, Outcome as Code, Quiet, Table } from "./elements.tsx";
import { ArgumentsForm } from "./form/arguments-form.tsx";
import { formatMs } from "./format.ts";
import { ResultCard } from "./result-card.tsx";
import { type Outcome, RunForm, useRun } from "./run.tsx";
import { isRecord, type Json, listOf, recordOf, type Schema, type StoredCall, type ToolResult } from "./wire.ts";

/** A call made from this page. */
interface PastCall extends Outcome {
  readonly time: Date;
}

const CALLS_MAX = 100;

/** Calls made from this page until it is closed, the latest first. */
const past = signal<readonly PastCall[]>([]);

interface CallFormProps {
  readonly tool: string;
  readonly schema: Schema;
  readonly examples?: readonly Json[];
  /** Id of the call whose arguments are the form's first values. */
  readonly from?: string | undefined;
}

/** A form to call a tool, the result of the last call, and the earlier ones. */
export function CallForm({ tool, schema, examples = [], from }: CallFormProps) {
  const run = useRun();
  const form = useMemo(() => new ArgumentsForm(schema, examples), [schema]);
  const options = useMemo(() => new CallOptions(), []);
  useEffect(() => void (from === undefined ? null : fillFrom(from, form)), [from]);
  const bodyOf = (): CallBody | null => {
    const args = form.read();
    const given = options.read();
    if (args === null || given === null) return null;
    return { name: tool, arguments: args, ...(Object.keys(given).length === 0 ? {} : { options: given }) };
  };
  const submit = async (): Promise<void> => {
    const body = bodyOf();
    if (body === null) return announce("The arguments are not complete");
    announce(`${tool} runs`);
    const outcome = await run.start(body, "call");
    if (outcome === null) return;
    past.value = [{ ...outcome, time: new Date() }, ...past.value].slice(0, CALLS_MAX);
    const { success, error, metadata } = outcome.result;
    for (const { pointer, message } of violationsOf(outcome.result)) form.complain(pointer, message);
    announce(success ? `${tool} ended well in ${formatMs(metadata.wallMs)}` : `${tool} failed: ${error?.code ?? ""}`);
  };
  const copies = Object.entries(SNIPPETS).map(([name, write]) => {
    const text = (): string | null => {
      const body = bodyOf();
      return body === null ? null : write(body);
    };
    return <CopyButton name={name} text={text} />;
  });
  const again = (call: PastCall): void => {
    form.write(call.body.arguments);
    run.show(call);
    announce("An earlier call is shown");
  };
  return (
    <div class="stack">
      <div class="columns">
        <Card heading="Try it">
          <RunForm run={run} onRun={() => void submit()} actions={copies}>
            <form.View />
            <options.View />
          </RunForm>
        </Card>
        <ResultCard run={run} />
      </div>
      <EarlierCalls calls={past.value.filter(({ body }) => body.name === tool)} again={again} />
    </div>
  );
}

function EarlierCalls({ calls, again }: { calls: readonly PastCall[]; again: (call: PastCall) => void }) {
  if (calls.length < 2) return null;
  const rowOf = (call: PastCall) => {
    const { success, error, metadata } = call.result;
    const text = JSON.stringify(call.body.arguments);
    return [
      call.time.toLocaleTimeString(),
      <code class="short">{text.length > 80 ? `${text.slice(0, 80)}…` : text}</code>,
      <Code code={success ? "ok" : (error?.code ?? "failed")} />,
      formatMs(metadata.wallMs),
      <Quiet small onClick={() => again(call)}>
        Show
      </Quiet>,
    ];
  };
  return (
    <Card heading="Earlier calls">
      <Table
        label="Earlier calls"
        heads={["Time", "Arguments", "Outcome", "Took", "Again"]}
        items={calls}
        row={rowOf}
      />
    </Card>
  );
}

/** Fills the form with the arguments of a kept call. */
async function fillFrom(id: string, form: ArgumentsForm): Promise<void> {
  try {
    const { detail } = await getJson<StoredCall>(pathTo`/v1/calls/${id}`);
    if (detail === null) return announce("The arguments of that call are not kept");
    form.write(detail.arguments as Json);
    announce("The form has the arguments of that call");
  } catch {
    announce("The arguments of that call could not be loaded");
  }
}

function violationsOf({ error }: ToolResult): readonly { readonly pointer: string; readonly message: string }[] {
  const { violations } = error?.code === "invalid_arguments" ? recordOf(error.details) : {};
  return listOf(violations).flatMap((one) =>
    isRecord(one) ? [{ pointer: String(one["pointer"]), message: String(one["message"]) }] : [],
  );
}
