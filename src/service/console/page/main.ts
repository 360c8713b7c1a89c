import { ApiError, listTools, setOnUnauthorized } from "./api.ts";
import { fill, h, liveRegion } from "./elements.ts";
import { KeyDialog, loadKey } from "./key-dialog.ts";
import { Overview } from "./overview.ts";
import { ProgramView } from "./program-view.ts";
import { RecordView } from "./record-view.ts";
import { RegistryView } from "./registry-view.ts";
import { Sidebar } from "./sidebar.ts";
import { StatsFeed } from "./stats-feed.ts";
import { themeButton } from "./theme.ts";
import { ToolView } from "./tool-view.ts";
import type { ToolInfo } from "./wire.ts";

/** Interval of requests for the tool list, in milliseconds. */
const LIST_MS = 15_000;

type View = Overview | ToolView | ProgramView | RegistryView | RecordView;

/** The page and its router. */
class App {
  readonly #sidebar = new Sidebar();
  readonly #main = h("main", { id: "main", tabindex: -1 });
  readonly #state = h("span", { class: "state" });
  readonly #feed = new StatsFeed(() => this.#onStats());
  readonly #dialog = new KeyDialog(() => this.#restart());
  #view: View | null = null;
  #shown: string | null = null;
  #tools: readonly ToolInfo[] = [];
  #listed = "";

  start(): void {
    const skip = h("a", { href: "#main", class: "skip", click: (event) => this.#skip(event) }, "Skip to the content");
    const mark = h("img", {
      src: document.querySelector<HTMLLinkElement>('link[rel="icon"]')?.href ?? "",
      alt: "",
      width: 26,
      height: 26,
    });
    const home = h("a", { href: "#/", class: "brand" }, mark, "Glovebox");
    const header = h(
      "header",
      { class: "top" },
      home,
      this.#state,
      h("div", { class: "row end" }, this.#dialog.button, themeButton()),
    );
    document.body.append(
      skip,
      header,
      h("div", { class: "frame" }, this.#sidebar.element, this.#main),
      this.#dialog.element,
      liveRegion(),
    );
    setOnUnauthorized(() => this.#dialog.open(loadKey() === null ? "" : "Unknown key."));
    addEventListener("hashchange", () => this.#route(true));
    setInterval(() => {
      if (document.visibilityState === "visible") void this.#list();
    }, LIST_MS);
    this.#restart();
  }

  /** Reloads everything: another key may have access to other tools. */
  #restart(): void {
    this.#listed = "";
    this.#feed.restart();
    void this.#list();
  }

  async #list(): Promise<void> {
    if (this.#dialog.element.open) return;
    try {
      const tools = await listTools();
      const text = JSON.stringify(tools);
      if (text === this.#listed) return;
      this.#listed = text;
      this.#tools = tools;
      this.#sidebar.setTools(tools);
      this.#route(false);
    } catch (error) {
      if (this.#listed === "") this.#fail(error);
    }
  }

  #fail(error: unknown): void {
    const isKeyless = error instanceof ApiError && error.status === 401;
    const message = isKeyless
      ? "The server requires a key."
      : error instanceof ApiError
        ? `The list of tools could not be loaded: ${error.message}.`
        : "The list of tools could not be loaded.";
    if (this.#shown !== "") this.#route(false);
    if (this.#view instanceof Overview && !isKeyless) return this.#sidebar.setTools([]);
    const button = h(
      "button",
      { type: "button", class: "primary", click: () => (isKeyless ? this.#dialog.open("") : this.#restart()) },
      isKeyless ? "Enter a key" : "Try again",
    );
    this.#close();
    fill(
      this.#main,
      h(
        "div",
        { class: "stack" },
        h("h1", { tabindex: -1 }, "Glovebox"),
        h("p", { class: "notice warn" }, message),
        h("div", {}, button),
      ),
    );
  }

  /** Shows the view that the URL names. A view that is already shown keeps its state, including typed input. */
  #route(isMoved: boolean): void {
    const { place, name } = readHash(location.hash);
    const tool = this.#tools.find((one) => place === "tool" && one.name === name);
    const shown = tool === undefined ? JSON.stringify([place, name]) : JSON.stringify(tool);
    if (shown === this.#shown) return;
    this.#close();
    this.#shown = shown;
    this.#sidebar.choose(place === "tool" ? name : null, place);
    this.#view = viewOf(place, name, tool);
    fill(this.#main, this.#view?.element ?? missing(name ?? ""));
    document.title = `${name ?? TITLES[place]} · Glovebox`;
    scrollTo(0, 0);
    if (isMoved) this.#main.querySelector("h1")?.focus();
    this.#onStats();
  }

  #close(): void {
    this.#view?.close();
    this.#view = null;
    this.#shown = null;
  }

  #onStats(): void {
    const { history, last, state } = this.#feed;
    const quarantined = last?.quarantined ?? [];
    this.#sidebar.setQuarantined(quarantined);
    if (this.#view instanceof Overview) this.#view.update(history, state);
    if (this.#view instanceof ToolView)
      this.#view.setQuarantined(quarantined.some((name) => isTool(this.#tools, location.hash, name)));
    const isLive = state.kind === "live" && last !== undefined;
    const text = isLive ? last.state : state.kind === "connecting" ? "" : "no numbers";
    this.#state.className = `state ${isLive && last.state === "open" ? "good" : "warn"}`;
    if (this.#state.textContent !== text) fill(this.#state, text);
  }

  #skip(event: Event): void {
    event.preventDefault();
    this.#main.focus();
  }
}

/** Target of a URL: a tool, the program page, the registry, a record of it, or the overview. */
interface Place {
  readonly place: "overview" | "program" | "registry" | "tool";
  readonly name: string | null;
}

const TITLES: Readonly<Record<Place["place"], string>> = {
  overview: "Overview",
  program: "Program",
  registry: "Registry",
  tool: "Tool",
};

function readHash(hash: string): Place {
  if (hash === "#/program") return { place: "program", name: null };
  const [, place = "", name] = /^#\/(tools|registry)(?:\/(.+))?$/.exec(hash) ?? [];
  if (place === "registry") return { place, name: name === undefined ? null : decode(name) };
  return name === undefined ? { place: "overview", name: null } : { place: "tool", name: decode(name) };
}

/** `null` where there is no such tool. */
function viewOf(place: Place["place"], name: string | null, tool: ToolInfo | undefined): View | null {
  if (place === "overview") return new Overview();
  if (place === "program") return new ProgramView();
  if (place === "registry") return name === null ? new RegistryView() : new RecordView(name);
  return tool === undefined ? null : new ToolView(tool);
}

function missing(name: string): HTMLElement {
  return h(
    "div",
    { class: "stack" },
    h("h1", { tabindex: -1 }, name),
    h("p", { class: "notice warn" }, "There is no tool of this name."),
  );
}

function isTool(tools: readonly ToolInfo[], hash: string, name: string): boolean {
  return hash === `#/tools/${encodeURIComponent(name)}` && tools.some((tool) => tool.name === name);
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

new App().start();
