import { signal, useSignal } from "@preact/signals";
import { announce } from "../elements.tsx";
import { isRecord } from "../wire.ts";

const PLACE = "glovebox.views";
const VIEWS_MAX = 50;
const ADDRESS = /^#\/calls\?/;

/** Filters of calls under a name, as an address. */
interface View {
  readonly name: string;
  readonly address: string;
}

const views = signal(load());

/** Named filters, kept by this browser. An address with filters can be saved. */
export function SavedViews({ address }: { address: string }) {
  const name = useSignal("");
  const isFiltered = ADDRESS.test(address);
  if (views.value.length === 0 && !isFiltered) return null;
  const saveView = (event: Event): void => {
    event.preventDefault();
    const text = name.value.trim();
    if (text === "") return;
    const others = views.value.filter((view) => view.name !== text);
    save([...others, { name: text, address }].slice(-VIEWS_MAX));
    announce(`The view ${text} was saved`);
    name.value = "";
  };
  return (
    <>
      {views.value.length > 0 && (
        <ul class="chips" aria-label="Saved views">
          {views.value.map((view) => (
            <li class="chip">
              <a href={view.address} aria-current={view.address === address ? "page" : undefined}>
                {view.name}
              </a>
              <button
                type="button"
                aria-label={`Remove the view ${view.name}`}
                onClick={() => save(views.value.filter((one) => one !== view))}
              >
                ×
              </button>
            </li>
          ))}
        </ul>
      )}
      {isFiltered && (
        <form class="row filter" onSubmit={saveView}>
          <input
            aria-label="Name of the view"
            autocomplete="off"
            maxLength={60}
            placeholder="Save these filters as…"
            value={name}
            onInput={(event) => (name.value = event.currentTarget.value)}
          />
          <button type="submit" class="quiet">
            Save
          </button>
        </form>
      )}
    </>
  );
}

function load(): readonly View[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(PLACE) ?? "[]");
    return Array.isArray(kept) ? kept.flatMap(readView) : [];
  } catch {
    return [];
  }
}

function readView(given: unknown): readonly View[] {
  const { name, address } = isRecord(given) ? given : {};
  return typeof name === "string" && typeof address === "string" && ADDRESS.test(address) ? [{ name, address }] : [];
}

function save(next: readonly View[]): void {
  views.value = next;
  try {
    localStorage.setItem(PLACE, JSON.stringify(next));
  } catch {
    // Without storage they last as long as the page.
  }
}
