import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { getJson, messageOf, pathTo } from "../api.ts";
import { announce, Card, Notice, Quiet, Table, Tags } from "../elements.tsx";
import { plural } from "../format.ts";
import { addressOf } from "../router.ts";
import type { RecordPage, RecordSummary } from "../wire.ts";

const WAIT_MS = 250;

/** The records found by words, or a page of all records. */
async function find(words: string, after: string): Promise<RecordPage> {
  if (words === "") return getJson(pathTo`/v1/agentspace/tools?after=${after}`);
  const { hits } = await getJson<{ readonly hits: readonly RecordSummary[] }>(
    pathTo`/v1/agentspace/search?limit=50&q=${words}`,
  );
  return { tools: hits };
}

/** AgentSpace's registry: its records, and a search among them. */
export function Page() {
  const words = useSignal("");
  const found = useSignal<RecordPage | null>(null);
  const problem = useSignal<string | null>(null);
  const show = async (after: string, signal?: AbortSignal): Promise<void> => {
    try {
      const page = await find(words.value.trim(), after);
      // Answers to earlier requests come too late.
      if (signal?.aborted === true) return;
      const before = after === "" ? [] : (found.value?.tools ?? []);
      found.value = { ...page, tools: [...before, ...page.tools] };
      problem.value = null;
      announce(countOf(found.value));
    } catch (error) {
      problem.value = messageOf(error);
    }
  };
  useEffect(() => {
    const current = new AbortController();
    const timer = setTimeout(() => void show("", current.signal), found.value === null ? 0 : WAIT_MS);
    return () => {
      clearTimeout(timer);
      current.abort();
    };
  }, [words.value]);
  const { next } = found.value ?? {};
  return (
    <div class="stack">
      <h1 tabIndex={-1}>Registry</h1>
      <Card heading="Tools of AgentSpace">
        <label for="registry-search">Search the registry</label>
        <input
          type="search"
          id="registry-search"
          placeholder="What the tool is to do"
          autocomplete="off"
          maxLength={1_000}
          value={words}
          onInput={(event) => (words.value = event.currentTarget.value)}
        />
        <div class="stack tight">
          {problem.value !== null && <Notice>{problem.value}</Notice>}
          {found.value !== null && <Records page={found.value} />}
          {next !== undefined && <Quiet onClick={() => void show(next)}>Show more</Quiet>}
        </div>
      </Card>
    </div>
  );
}

function countOf({ tools, next }: RecordPage): string {
  return `${plural(tools.length, "tool")}${next === undefined ? "" : ", and more"}`;
}

function Records({ page }: { page: RecordPage }) {
  const rowOf = ({ tool_id: id, description, version, tool_tags: tags, registration }: RecordSummary) => [
    <a href={addressOf("registry", id)} class="mono">
      {id}
    </a>,
    description,
    version ?? "—",
    <span class="row">
      <Tags tags={tags} />
    </span>,
    registration.registered_by,
  ];
  return (
    <>
      {page.tools.length > 0 && <p class="muted">{countOf(page)}</p>}
      <Table
        label="Tools of the registry"
        heads={["Tool", "Description", "Version", "Tags", "Registered by"]}
        items={page.tools}
        row={rowOf}
        empty="No tool was found."
      />
    </>
  );
}
