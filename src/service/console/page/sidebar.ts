import { badge, fill, h, newId } from "./elements.ts";
import { plural } from "./format.ts";
import type { ToolInfo } from "./wire.ts";

/** Navigation: the overview and a searchable list of tools. */
export class Sidebar {
  readonly element: HTMLElement;
  readonly #search: HTMLInputElement;
  readonly #list = h("ul", { class: "tool-list" });
  readonly #count = h("p", { class: "muted count", role: "status" });
  readonly #overview = h("a", { href: "#/", class: "nav-link" }, "Overview");
  /** `null` if the server has no registry. */
  readonly #registry = hasRegistry() ? h("a", { href: "#/registry", class: "nav-link" }, "Registry") : null;
  /** `null` if the server has no code mode. */
  readonly #program = hasCodeMode() ? h("a", { href: "#/program", class: "nav-link" }, "Program") : null;
  readonly #panel: HTMLElement;
  readonly #opener: HTMLButtonElement;
  #tools: readonly ToolInfo[] | null = null;
  #quarantined: ReadonlySet<string> = new Set();
  #chosen: string | null = null;

  constructor() {
    const id = newId();
    this.#search = h("input", {
      type: "search",
      id,
      placeholder: "Search tools",
      autocomplete: "off",
      spellcheck: "false",
      "aria-keyshortcuts": "/",
      input: () => this.#show(),
    });
    this.#search.addEventListener("keydown", (event) => this.#onSearchKey(event));
    this.#list.addEventListener("keydown", (event) => this.#onListKey(event));
    const panelId = newId();
    this.#opener = h(
      "button",
      {
        type: "button",
        class: "quiet opener",
        "aria-expanded": "false",
        "aria-controls": panelId,
        click: () => this.#open(!this.#isOpen),
      },
      "Tools",
    );
    this.#panel = h(
      "div",
      { class: "panel", id: panelId },
      h("label", { for: id, class: "unseen" }, "Search tools"),
      this.#search,
      this.#count,
      this.#list,
    );
    this.element = h(
      "nav",
      { class: "sidebar", "aria-label": "Views" },
      h("div", { class: "row nav-row" }, this.#overview, this.#program, this.#registry, this.#opener),
      this.#panel,
    );
    document.addEventListener("keydown", (event) => {
      const { target } = event;
      const isTyping = target instanceof HTMLElement && target.matches("input, textarea, select");
      if (event.key !== "/" || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      this.#open(true);
      this.#search.focus();
    });
  }

  setTools(tools: readonly ToolInfo[]): void {
    this.#tools = tools;
    this.#show();
  }

  setQuarantined(names: readonly string[]): void {
    if (names.length === this.#quarantined.size && names.every((name) => this.#quarantined.has(name))) return;
    this.#quarantined = new Set(names);
    this.#show();
  }

  /** Marks a tool as chosen, or one of the other views. */
  choose(name: string | null, view: "overview" | "program" | "registry" | "tool"): void {
    this.#chosen = name;
    const links = [
      [this.#overview, "overview"],
      [this.#program, "program"],
      [this.#registry, "registry"],
    ] as const;
    for (const [link, own] of links) {
      link?.toggleAttribute("aria-current", false);
      if (view === own) link?.setAttribute("aria-current", "page");
    }
    this.#open(false);
    this.#show();
  }

  get #isOpen(): boolean {
    return this.#panel.classList.contains("open");
  }

  /** Opens or closes the list, which has an effect only on narrow pages. */
  #open(isOpen: boolean): void {
    this.#panel.classList.toggle("open", isOpen);
    this.#opener.setAttribute("aria-expanded", String(isOpen));
  }

  #show(): void {
    if (this.#tools === null) return;
    const words = this.#search.value.toLowerCase().split(/\s+/);
    const found = this.#tools.filter(({ name, description, tags }) => {
      const text = [name, description, ...tags].join(" ").toLowerCase();
      return words.every((word) => text.includes(word));
    });
    const isAll = found.length === this.#tools.length;
    fill(
      this.#count,
      isAll ? plural(found.length, "tool") : `${found.length} of ${plural(this.#tools.length, "tool")}`,
    );
    const focused = document.activeElement instanceof HTMLAnchorElement ? document.activeElement.hash : null;
    fill(this.#list, ...found.map((tool) => this.#item(tool)));
    if (focused !== null)
      this.#links()
        .find((link) => link.hash === focused)
        ?.focus();
  }

  #item({ name, description, contract, isolation }: ToolInfo): HTMLElement {
    const marks = [
      this.#quarantined.has(name) ? badge("quarantined", "bad") : null,
      contract === "glovebox" ? null : badge(contract),
      isolation === "instance" ? null : badge(isolation),
    ];
    const link = h(
      "a",
      {
        href: `#/tools/${encodeURIComponent(name)}`,
        class: "tool-link",
        "aria-current": name === this.#chosen ? "page" : null,
      },
      h("span", { class: "tool-name" }, h("span", { class: "mono" }, name), ...marks),
      h("span", { class: "tool-words" }, description),
    );
    return h("li", {}, link);
  }

  #onSearchKey(event: KeyboardEvent): void {
    if (event.key === "ArrowDown" || event.key === "Enter") {
      event.preventDefault();
      const [first] = this.#links();
      if (event.key === "Enter") first?.click();
      else first?.focus();
    }
    if (event.key === "Escape") {
      this.#search.value = "";
      this.#show();
    }
  }

  #onListKey(event: KeyboardEvent): void {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step === 0) return;
    event.preventDefault();
    const links = this.#links();
    const at = links.findIndex((link) => link === document.activeElement) + step;
    if (at < 0) this.#search.focus();
    else links[at]?.focus();
  }

  #links(): HTMLAnchorElement[] {
    return [...this.#list.querySelectorAll("a")];
  }
}

/** Whether the server has a registry of AgentSpace's: it says so in the document. */
function hasCodeMode(): boolean {
  return document.body.hasAttribute("data-code-mode");
}

function hasRegistry(): boolean {
  return document.body.dataset["registry"] !== undefined;
}
