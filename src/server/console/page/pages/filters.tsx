import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { useKeys } from "../keys.tsx";
import { route, setQuery } from "../router.ts";
import { tools } from "../tools.ts";

/** A filter by the name that it has in the address. */
export interface Filter {
  readonly label: string;
  readonly hint?: string;
  /** Its values, if they are few. */
  readonly values?: readonly string[];
}

export type FilterSet = Readonly<Record<string, Filter>>;

/** The filters in the address, and a form that adds others. `none`: description of the unfiltered list. */
export function Filters({ filters, none }: { filters: FilterSet; none: string }) {
  return (
    <>
      <Chips filters={filters} none={none} />
      <AddFilter filters={filters} />
    </>
  );
}

function Chips({ filters, none }: { filters: FilterSet; none: string }) {
  const { query } = route.value;
  const active = Object.entries(filters).filter(([name]) => (query[name] ?? "") !== "");
  if (active.length === 0) return <p class="muted">{none}</p>;
  return (
    <ul class="chips" aria-label="Active filters">
      {active.map(([name, { label }]) => (
        <li class="chip">
          {label}: <span class="mono">{query[name]}</span>
          <button type="button" aria-label={`Remove the filter ${label}`} onClick={() => setQuery({ [name]: null })}>
            ×
          </button>
        </li>
      ))}
    </ul>
  );
}

function AddFilter({ filters }: { filters: FilterSet }) {
  const name = useSignal("tool");
  const value = useSignal("");
  const select = useRef<HTMLSelectElement>(null);
  useKeys({ f: ["Add a filter", () => select.current?.focus()] });
  const submit = (event: Event): void => {
    event.preventDefault();
    if (value.value.trim() === "") return;
    setQuery({ [name.value]: value.value.trim() });
    value.value = "";
  };
  const { hint, values = [] } = filters[name.value] ?? {};
  const choices = name.value === "tool" ? (tools.value ?? []).slice(0, 500).map((tool) => tool.name) : values;
  return (
    <form class="row filter" onSubmit={submit}>
      <select
        ref={select}
        aria-label="Filter"
        value={name.value}
        onChange={(event) => (name.value = event.currentTarget.value)}
      >
        {Object.entries(filters).map(([one, { label }]) => (
          <option value={one}>{label}</option>
        ))}
      </select>
      <input
        aria-label="Value of the filter"
        autocomplete="off"
        spellcheck={false}
        list="filter-values"
        placeholder={hint}
        value={value}
        onInput={(event) => (value.value = event.currentTarget.value)}
      />
      <datalist id="filter-values">
        {choices.map((choice) => (
          <option value={choice} />
        ))}
      </datalist>
      <button type="submit" class="quiet">
        Add
      </button>
    </form>
  );
}
