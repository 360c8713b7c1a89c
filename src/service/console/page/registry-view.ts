import { listRecords, searchRecords } from "./api.ts";
import { messageOf } from "./call-form.ts";
import { announce, badge, card, fill, h, newId, table } from "./elements.ts";
import { plural } from "./format.ts";
import type { RecordPage, RecordSummary } from "./wire.ts";

const WAIT_MS = 250;

/** AgentSpace's registry: its records, and a search among them. */
export class RegistryView {
  readonly element: HTMLElement;
  readonly #search: HTMLInputElement;
  readonly #found = h("div", { class: "stack tight" });
  #records: readonly RecordSummary[] = [];
  #timer = 0;
  /** The last request: answers to earlier ones come too late. */
  #asked = 0;

  constructor() {
    const id = newId();
    this.#search = h("input", {
      type: "search",
      id,
      placeholder: "What the tool is to do",
      autocomplete: "off",
      maxlength: 1_000,
      input: () => this.#wait(),
    });
    this.element = h(
      "div",
      { class: "stack" },
      h("h1", { tabindex: -1 }, "Registry"),
      card("Tools of AgentSpace", h("label", { for: id }, "Search the registry"), this.#search, this.#found),
    );
    void this.#show();
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#asked++;
  }

  #wait(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#show(), WAIT_MS);
  }

  /** Shows what is searched for, or a page of all records. */
  async #show(after = ""): Promise<void> {
    const asked = ++this.#asked;
    const words = this.#search.value.trim();
    let page: RecordPage;
    try {
      page = words === "" ? await listRecords(after) : await searchRecords(words);
    } catch (error) {
      if (asked === this.#asked) fill(this.#found, h("p", { class: "notice warn" }, messageOf(error)));
      return;
    }
    if (asked !== this.#asked) return;
    this.#records = after === "" ? page.tools : [...this.#records, ...page.tools];
    const { next } = page;
    const more =
      next === undefined
        ? null
        : h("button", { type: "button", class: "quiet", click: () => void this.#show(next) }, "Show more");
    const count = `${plural(this.#records.length, "tool")}${next === undefined ? "" : ", and more"}`;
    fill(this.#found, h("p", { class: "muted" }, count), recordsTable(this.#records), more);
    announce(count);
  }
}

function recordsTable(records: readonly RecordSummary[]): HTMLElement {
  if (records.length === 0) return h("p", { class: "empty" }, "No tool was found.");
  const rows = records.map(({ tool_id: id, description, version, tool_tags: tags, registration }) => [
    h("a", { href: `#/registry/${encodeURIComponent(id)}`, class: "mono" }, id),
    description,
    version ?? "—",
    h("span", { class: "row" }, ...tags.slice(0, 5).map((tag) => badge(`#${tag}`))),
    registration.registered_by,
  ]);
  return table("Tools of the registry", ["Tool", "Description", "Version", "Tags", "Registered by"], rows);
}
