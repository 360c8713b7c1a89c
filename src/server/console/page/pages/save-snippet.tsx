import { useSignal } from "@preact/signals";
import { pathTo, sendJson } from "../api.ts";
import { isAdmin } from "../caller.ts";
import { Card, type Loaded, Notice, Quiet, settle, ToolLink, When } from "../elements.tsx";
import { loadTools, tools } from "../tools.ts";
import { recordOf, type Snippet, type StoredCall } from "../wire.ts";

/**
 * A button and a form to save the program of a kept call. Empty if no program is kept, or the page's key may not save
 * it.
 */
export function SaveSnippet({ call }: { call: StoredCall }) {
  const isOpen = useSignal(false);
  const isProgram = call.tool === "run_code" && typeof recordOf(call.detail?.arguments)["code"] === "string";
  if (!isProgram || !isAdmin()) return null;
  return (
    <>
      <div>
        <Quiet aria-expanded={isOpen.value} onClick={() => (isOpen.value = !isOpen.value)}>
          Save as snippet
        </Quiet>
      </div>
      {isOpen.value && <SnippetForm {...call} />}
    </>
  );
}

type Fields = Readonly<Record<"name" | "description", string>>;

function SnippetForm({ id, tenant }: StoredCall) {
  const saved = useSignal<Loaded<Snippet> | null>(null);
  const isSaving = saved.value?.kind === "loading";
  const save = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    if (isSaving) return;
    const { name, description } = Object.fromEntries(new FormData(event.target as HTMLFormElement)) as Fields;
    saved.value = { kind: "loading" };
    const path = pathTo`/v1/snippets/${name}?tenant=${tenant}`;
    const next = await settle(sendJson<Snippet>("PUT", path, { description, callId: id }));
    if (next.kind === "ready") await loadTools();
    saved.value = next;
  };
  return (
    <Card heading="Snippet">
      <p>
        The program becomes the tool snippets.NAME of its tenant. It may call the tools that it names or has called.
      </p>
      <form class="stack" onSubmit={(event) => void save(event)}>
        <label class="field">
          <span class="name">Name</span>
          <input name="name" required maxLength={64} autocomplete="off" spellcheck={false} />
        </label>
        <label class="field">
          <span class="name">What it does, for those who call it</span>
          <input name="description" required maxLength={4_000} autocomplete="off" />
        </label>
        <div>
          <button type="submit" class="primary" disabled={isSaving}>
            Save
          </button>
        </div>
      </form>
      <div role="status">
        {saved.value !== null && <When loaded={saved.value}>{(snippet) => <Saved {...snippet} />}</When>}
      </div>
    </Card>
  );
}

function Saved({ name, unusable }: Snippet) {
  const tool = `snippets.${name}`;
  const isListed = tools.value?.some((one) => one.name === tool) === true;
  return (
    <>
      <p class="name">Saved as {isListed ? <ToolLink name={tool} /> : <code>{tool}</code>}.</p>
      {unusable !== null && <Notice>It cannot be called: {unusable}.</Notice>}
    </>
  );
}
