import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { messageOf } from "../api.ts";
import { CopyButton } from "../clipboard.tsx";
import { announce, Badge, Card, Notice, Part, Table, ToolLink } from "../elements.tsx";
import { Grants } from "../explanation-cards.tsx";
import { plural } from "../format.ts";
import { addressOf, route, setQuery } from "../router.ts";
import { tools } from "../tools.ts";
import type { Finding, PolicyChange, SimulatedAsk, Simulation } from "../wire.ts";
import { draft, simulate } from "./simulation.ts";

/** Time after the last key in which a policy is checked. */
const WAIT_MS = 500;

/** A playground for policies: their grants, and their effect on past calls. Nothing is written. */
export function Page() {
  const { call = "", tool = "", tenant = "", since = "24h" } = route.value.query;
  const answer = useSignal<Simulation | null>(null);
  const problem = useSignal<string | null>(null);
  const tryIt = async (signal?: AbortSignal): Promise<void> => {
    try {
      answer.value = await simulate({ call, tool, tenant, since }, signal);
      problem.value = null;
    } catch (error) {
      if (signal?.aborted === true) return;
      problem.value = messageOf(error);
    }
  };
  useEffect(() => {
    const current = new AbortController();
    const timer = setTimeout(() => void tryIt(current.signal), WAIT_MS);
    return () => {
      clearTimeout(timer);
      current.abort();
    };
  }, [draft.value, call, tool, tenant, since]);
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    await tryIt();
    announce(problem.value ?? wordsOf(answer.value));
  };
  return (
    <div class="stack">
      <h1 tabIndex={-1}>Policy playground</h1>
      <p class="lead">A policy is tried here against a tool or a past call. Nothing is written.</p>
      <form class="panes" onSubmit={(event) => void submit(event)} onKeyDown={submitBy(submit)}>
        <Card heading="Policy">
          <label for="policy-text" class="name">
            Policy as YAML or JSON
          </label>
          <textarea
            id="policy-text"
            class="code editor long"
            rows={16}
            spellcheck={false}
            autocomplete="off"
            value={draft.value}
            onInput={(event) => (draft.value = event.currentTarget.value)}
          />
          <Findings found={answer.value?.findings ?? []} />
          <div class="row">
            <button type="submit" class="primary">
              Try it
            </button>
            <CopyButton name="Copy the policy" text={() => draft.value} />
          </div>
        </Card>
        <Card heading="Tried with">
          <Field name="tool" label="Tool" value={tool} />
          <Field name="tenant" label="Tenant" value={tenant} />
          <Field name="call" label="Id of a past call" value={call} />
          <Field name="since" label="Past calls since, as 24h or 7d" value={since} />
          <datalist id="policy-tools">
            {(tools.value ?? []).slice(0, 500).map((one) => (
              <option value={one.name} />
            ))}
          </datalist>
          {problem.value !== null && <Notice>{problem.value}</Notice>}
        </Card>
      </form>
      {answer.value !== null && <Answer {...answer.value} hasTool={tool !== "" || call !== ""} />}
    </div>
  );
}

function submitBy(submit: (event: Event) => Promise<void>) {
  return (event: KeyboardEvent): void => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) void submit(event);
  };
}

function Field({ name, label, value }: { name: string; label: string; value: string }) {
  return (
    <div class="field">
      <label for={`policy-${name}`} class="name">
        {label}
      </label>
      <input
        id={`policy-${name}`}
        autocomplete="off"
        spellcheck={false}
        list={name === "tool" ? "policy-tools" : undefined}
        value={value}
        onChange={(event) => setQuery({ [name]: event.currentTarget.value.trim() }, false)}
      />
    </div>
  );
}

function wordsOf(answer: Simulation | null): string {
  const mistakes = answer?.findings.length ?? 0;
  if (mistakes > 0) return `${plural(mistakes, "finding")} in the policy`;
  return `The policy would change ${plural(answer?.changes.length ?? 0, "past request")}`;
}

function Findings({ found }: { found: readonly Finding[] }) {
  if (found.length === 0) return null;
  return (
    <ul class="notice warn" aria-label="Findings">
      {found.map(({ tool, reason, remediation, line, column = 1, pointer }) => (
        <li>
          {tool !== null && <span class="strong">{tool}: </span>}
          {reason}. To change that: {remediation}.{" "}
          <span class="muted">{line === undefined ? pointer : `Line ${line}, column ${column}`}</span>
        </li>
      ))}
    </ul>
  );
}

function Verdict({ text }: { text: string }) {
  return <Badge text={text} tone={text === "granted" || text === "ok" ? "good" : "bad"} />;
}

const CHANGE_HEADS = ["Call", "Tool", "Tenant", "What", "Target", "Was", "Would be", "Rule"];

function Answer({ grants, asks, changes, hasTool }: Simulation & { readonly hasTool: boolean }) {
  const askedOf = ({ capability, method, target, outcome, rule }: SimulatedAsk) => [
    `${capability}.${method}`,
    target ?? "—",
    <Verdict text={outcome} />,
    rule ?? "none",
  ];
  const changedOf = ({ id, tool, tenant, capability, target, was, would, rule }: PolicyChange) => [
    <a href={addressOf("calls", id)} class="mono">
      {id}
    </a>,
    <ToolLink name={tool} />,
    tenant,
    capability,
    target ?? "—",
    <Verdict text={was} />,
    <Verdict text={would} />,
    rule ?? "none",
  ];
  return (
    <Card heading="What it would do">
      {hasTool && (
        <Part heading="Granted to the tool">
          <Grants grants={grants} />
        </Part>
      )}
      {asks.length > 0 && (
        <Part heading="Requests of the past call">
          <Table
            label="Requests of the past call"
            heads={["What", "Target", "Outcome", "Rule"]}
            items={asks}
            row={askedOf}
          />
        </Part>
      )}
      <Part heading="What would change for past calls">
        <Table
          label="What would change for past calls"
          heads={CHANGE_HEADS}
          items={changes}
          row={changedOf}
          empty="Nothing."
        />
      </Part>
    </Card>
  );
}
