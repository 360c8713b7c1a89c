import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import { getJson, pathTo } from "../api.ts";
import { JsonView, Notice, useLoaded, ValueView, When } from "../elements.tsx";
import { ExplanationCards } from "../explanation-cards.tsx";
import { useKeys } from "../keys.tsx";
import { ErrorView, Logs } from "../result-card.tsx";
import { addressOf, go, route, setQuery } from "../router.ts";
import { type Explanation, isRecord, type StoredCall } from "../wire.ts";
import { draft } from "./simulation.ts";

const TABS = { result: "Result", arguments: "Arguments", logs: "Logs", explanation: "Explanation" } as const;
type Tab = keyof typeof TABS;
const NAMES = Object.keys(TABS) as readonly Tab[];

/** A call's arguments, output, logs and grants. The chosen tab is in the address. */
export function CallTabs({ call }: { call: StoredCall }) {
  const { tab } = route.value.query;
  const chosen = NAMES.find((name) => name === tab) ?? "result";
  const list = useRef<HTMLDivElement>(null);
  const choose = (name: Tab): void => setQuery({ tab: name }, false);
  const onKey = (event: KeyboardEvent): void => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    const next = NAMES[(NAMES.indexOf(chosen) + step + NAMES.length) % NAMES.length];
    if (step === 0 || next === undefined) return;
    event.preventDefault();
    choose(next);
    list.current?.querySelector<HTMLElement>(`#tab-${next}`)?.focus();
  };
  useKeys({ e: ["Explanation", () => choose("explanation")] });
  return (
    <section class="card" aria-label="Details">
      <div role="tablist" class="tabs" aria-label="Details" ref={list} onKeyDown={onKey}>
        {NAMES.map((name) => (
          <button
            type="button"
            role="tab"
            id={`tab-${name}`}
            aria-selected={name === chosen}
            aria-controls="tab-panel"
            tabIndex={name === chosen ? 0 : -1}
            onClick={() => choose(name)}
          >
            {TABS[name]}
          </button>
        ))}
      </div>
      <div role="tabpanel" id="tab-panel" class="stack" aria-labelledby={`tab-${chosen}`} tabIndex={0}>
        <Panel tab={chosen} call={call} />
      </div>
    </section>
  );
}

function Panel({ tab, call }: { tab: Tab; call: StoredCall }): ComponentChildren {
  const { detail } = call;
  if (tab === "explanation") return <ExplanationPanel call={call} />;
  if (detail === null) {
    return (
      <Notice tone="plain">
        {call.error ?? ""} The values of this call are not kept: calls.keep says of which calls they are, and for how
        long.
      </Notice>
    );
  }
  const part = { result: detail.error === null ? "output" : "error", arguments: "arguments", logs: "logs" }[tab];
  if (detail.omitted.includes(part))
    return <Notice>This part was too large to be kept, or could not be redacted.</Notice>;
  switch (tab) {
    case "arguments":
      return <JsonView label="Arguments" value={detail.arguments} />;
    case "logs":
      return detail.logs.length === 0 ? <p class="empty">It wrote no line.</p> : <Logs lines={detail.logs} />;
    case "result":
      if (detail.error === null) return <ValueView label="Output" value={detail.output} />;
      return <ErrorView error={detail.error} onRemedy={(yaml) => tryRemedy(call.id, yaml)} />;
  }
}

/** Opens the playground with a remedy, to show its effect on the call. */
function tryRemedy(id: string, yaml: string): void {
  draft.value = yaml;
  go(addressOf("policy", null, { call: id }));
}

function ExplanationPanel({ call: { tool, tenant, detail } }: { call: StoredCall }) {
  const kept = detail?.explanation;
  if (isRecord(kept) && Array.isArray(kept["grants"])) {
    const { grants = [], limits = [], findings = [] } = kept as unknown as Partial<Explanation>;
    return <ExplanationCards {...EMPTY} grants={grants} limits={limits} findings={findings} />;
  }
  return <CurrentExplanation tool={tool} tenant={tenant} />;
}

const EMPTY = { tool: "", tenant: "", processorTime: "measured" } as const;

function CurrentExplanation({ tool, tenant }: { tool: string; tenant: string }) {
  const query = tenant === "" ? "" : pathTo`?tenant=${tenant}`;
  const path = pathTo`/v1/tools/${tool}/explanation` + query;
  const loaded = useLoaded((signal) => getJson<Explanation>(path, signal), [path]);
  return (
    <>
      <p class="muted">What was granted then is not kept. This is what the tool is granted now.</p>
      <When loaded={loaded}>{(explanation) => <ExplanationCards {...explanation} />}</When>
    </>
  );
}
