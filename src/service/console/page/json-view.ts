import { h, scrollBox } from "./elements.ts";

/** Maximum length with syntax colours; longer text is shown plain, and cut off at `SHOWN_MAX`. */
const COLOURED_MAX = 100_000;
const SHOWN_MAX = 500_000;
const TOKEN = /("(?:\\.|[^"\\])*")(\s*:)?|\b(?:true|false|null)\b|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/** A value as indented JSON. */
export function jsonView(label: string, value: unknown): HTMLElement {
  return textView(label, JSON.stringify(value, null, 2) ?? "nothing", true);
}

/** A box with a text, unformatted. */
export function textView(label: string, text: string, isJson = false): HTMLElement {
  const shown = text.slice(0, SHOWN_MAX);
  const code = h("code", {}, ...(isJson && text.length <= COLOURED_MAX ? coloured(shown) : [shown]));
  const left = text.length - shown.length;
  const rest = left > 0 ? h("p", { class: "muted" }, `${left} more characters are not shown.`) : null;
  return scrollBox(label, "code-box", h("pre", {}, code), rest);
}

function coloured(json: string): (Node | string)[] {
  const parts: (Node | string)[] = [];
  let at = 0;
  for (const match of json.matchAll(TOKEN)) {
    const [token, text, colon] = match;
    parts.push(json.slice(at, match.index));
    if (text === undefined) parts.push(h("span", { class: "t-value" }, token));
    else parts.push(h("span", { class: colon === undefined ? "t-text" : "t-name" }, text), colon ?? "");
    at = match.index + token.length;
  }
  parts.push(json.slice(at));
  return parts;
}
