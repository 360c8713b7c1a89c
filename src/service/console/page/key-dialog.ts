import { fill, h, newId } from "./elements.ts";

/** Dialog for the key, and the button that opens it. */
export class KeyDialog {
  readonly element: HTMLDialogElement;
  /** Opens the dialog, to change or forget the key. */
  readonly button: HTMLButtonElement;
  readonly #input: HTMLInputElement;
  readonly #message = h("p", { class: "error", role: "status" });
  readonly #onChange: () => void;

  constructor(onChange: () => void) {
    this.#onChange = onChange;
    const id = newId();
    const heading = newId();
    this.#input = h("input", { id, type: "password", autocomplete: "off", spellcheck: "false", maxlength: 1_024 });
    const cancel = h("button", { type: "button", class: "quiet", click: () => this.element.close() }, "Cancel");
    const forget = h("button", { type: "button", class: "quiet", click: () => this.#use(null) }, "Forget it");
    const form = h(
      "form",
      {
        class: "stack",
        submit: (event) => {
          event.preventDefault();
          const key = this.#input.value.trim();
          if (key !== "") this.#use(key);
        },
      },
      h("h2", { id: heading }, "Key"),
      h("p", {}, "What the server lets you do depends on your key. It is kept in this tab until you close it."),
      h("div", { class: "field" }, h("label", { for: id, class: "name" }, "Key"), this.#input, this.#message),
      h("div", { class: "row" }, h("button", { type: "submit", class: "primary" }, "Use this key"), forget, cancel),
    );
    this.element = h("dialog", { "aria-labelledby": heading }, form);
    this.button = h("button", { type: "button", class: "quiet", click: () => this.open("") }, "Key");
    this.#showButton();
  }

  /** Opens the dialog, or replaces the message of an open one. */
  open(message: string): void {
    fill(this.#message, message);
    if (this.element.open) return;
    this.#input.value = "";
    this.element.showModal();
    this.#input.focus();
  }

  #use(key: string | null): void {
    saveKey(key);
    this.element.close();
    this.#showButton();
    this.#onChange();
  }

  #showButton(): void {
    fill(this.button, loadKey() === null ? "Key" : "Key in use");
  }
}

const NAME = "glovebox.key";

/** The key of this tab. Session storage keeps it until the tab is closed. */
export function loadKey(): string | null {
  try {
    return sessionStorage.getItem(NAME);
  } catch {
    return null;
  }
}

export function saveKey(key: string | null): void {
  try {
    if (key === null) sessionStorage.removeItem(NAME);
    else sessionStorage.setItem(NAME, key);
  } catch {
    // Without storage the page asks for the key again.
  }
}
