import { formsOf } from "./forms.ts";

/** The text that stands for a secret wherever a tool can see it. */
export function placeholderOf(name: string): string {
  return `glovebox.secret.${name}.`;
}

/** Puts placeholders in the place of secrets. */
export class Redactor {
  readonly #text: Forms;
  readonly #bytes: Forms;

  constructor(secrets: Iterable<{ readonly name: string; readonly value: string }>) {
    const texts = new Map<string, string>();
    const bytes = new Map<string, string>();
    for (const { name, value } of secrets) {
      for (const form of formsOf(value)) {
        texts.set(form, placeholderOf(name));
        bytes.set(Buffer.from(form).toString("latin1"), placeholderOf(name));
      }
    }
    this.#text = new Forms(texts);
    this.#bytes = new Forms(bytes);
  }

  /** Of a text for people: messages, logs. */
  text(text: string): string {
    return this.#text.replace(text);
  }

  /** Of bytes that are written as a string, a character each: headers. */
  latin1(bytes: string): string {
    return this.#bytes.replace(bytes);
  }

  /** Of bytes that come piece by piece. */
  stream(): RedactedStream {
    return new RedactedStream(this.#bytes);
  }
}

/** Redacts what comes piece by piece, and holds back only what may be the beginning of a secret. */
export class RedactedStream {
  readonly #forms: Forms;
  #held = "";

  constructor(forms: Forms) {
    this.#forms = forms;
  }

  /** What can be given on by now. */
  push(chunk: Buffer): Buffer {
    if (this.#forms.isEmpty) return chunk;
    const { clean, held } = this.#forms.split(this.#held + chunk.toString("latin1"));
    this.#held = held;
    return Buffer.from(clean, "latin1");
  }

  /** What was held back: no more comes that could make it a secret. */
  end(): Buffer {
    const rest = this.#held;
    this.#held = "";
    return Buffer.from(rest, "latin1");
  }
}

/** Texts that must not be seen, and what is shown in their place. */
class Forms {
  readonly #shown: ReadonlyMap<string, string>;
  readonly #pattern: RegExp | null;
  readonly #lengthMax: number;

  constructor(shown: ReadonlyMap<string, string>) {
    // The longest first: one may begin as another does.
    const forms = [...shown.keys()].toSorted((one, other) => other.length - one.length);
    this.#shown = shown;
    this.#lengthMax = forms[0]?.length ?? 0;
    this.#pattern = forms.length === 0 ? null : new RegExp(forms.map((form) => RegExp.escape(form)).join("|"), "g");
  }

  get isEmpty(): boolean {
    return this.#pattern === null;
  }

  replace(text: string): string {
    return this.#pattern === null ? text : text.replace(this.#pattern, (form) => this.#shown.get(form) ?? "");
  }

  /** Replaces what is whole, and keeps back the end where more could make a form of it. */
  split(text: string): { readonly clean: string; readonly held: string } {
    if (this.#pattern === null) return { clean: text, held: "" };
    let clean = "";
    let from = 0;
    for (const { 0: form, index } of text.matchAll(this.#pattern)) {
      clean += text.slice(from, index) + (this.#shown.get(form) ?? "");
      from = index + form.length;
    }
    const held = this.#beginning(text.slice(from));
    return { clean: clean + text.slice(from, text.length - held), held: held === 0 ? "" : text.slice(-held) };
  }

  /** How long the longest end of a text is with which a form begins. */
  #beginning(text: string): number {
    const tail = text.slice(Math.max(0, text.length - this.#lengthMax + 1));
    let longest = 0;
    for (const form of this.#shown.keys()) {
      const first = form.charAt(0);
      const earliest = Math.max(0, tail.length - form.length + 1);
      for (let at = tail.indexOf(first, earliest); at >= 0; at = tail.indexOf(first, at + 1)) {
        const length = tail.length - at;
        if (length <= longest) break;
        if (form.startsWith(tail.slice(at))) {
          longest = length;
          break;
        }
      }
    }
    return longest;
  }
}
