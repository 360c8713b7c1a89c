import { fill, h } from "./elements.ts";

/** The button that runs something or cancels it, with its keys: Ctrl+Enter runs and never cancels; Ctrl+. cancels. */
export class RunControl {
  readonly button = h("button", { type: "submit", class: "primary", click: (event) => this.#onButton(event) }, "Run");
  readonly #shortcut = h("kbd", {}, "Enter");
  readonly hint = h("span", { class: "muted keys", "aria-hidden": "true" }, h("kbd", {}, "Ctrl"), " ", this.#shortcut);
  readonly #run: () => void;
  #running: AbortController | null = null;

  constructor(run: () => void) {
    this.#run = run;
    this.#set(null);
  }

  /** A form around what is run. */
  form(...children: readonly (Node | null)[]): HTMLFormElement {
    const submit = (event: Event): void => {
      event.preventDefault();
      this.#run();
    };
    const keydown = (event: Event): void => this.#onKey(event);
    return h("form", { submit, keydown, novalidate: true, class: "stack" }, ...children);
  }

  /** Marks a run as begun; `null` if one is running already. */
  begin(): AbortSignal | null {
    if (this.#running !== null) return null;
    const running = new AbortController();
    this.#set(running);
    return running.signal;
  }

  end(): void {
    this.#set(null);
  }

  cancel(): void {
    this.#running?.abort();
  }

  #onKey(event: Event): void {
    if (!(event instanceof KeyboardEvent) || !(event.ctrlKey || event.metaKey)) return;
    if (event.key === "Enter") this.#run();
    else if (event.key === "." && this.#running !== null) this.cancel();
    else return;
    event.preventDefault();
  }

  #onButton(event: Event): void {
    if (this.#running === null) return;
    event.preventDefault();
    this.cancel();
  }

  #set(running: AbortController | null): void {
    this.#running = running;
    fill(this.button, running === null ? "Run" : "Cancel");
    fill(this.#shortcut, running === null ? "Enter" : ".");
    this.button.setAttribute("aria-keyshortcuts", running === null ? "Control+Enter" : "Control+.");
  }
}
