type Child = Node | string | null;
type Attribute = string | number | boolean | null | ((event: Event) => void);

/**
 * Creates an element. A function becomes a listener, `true` an attribute without a value; `false` and `null` are left
 * out. Strings become text nodes: tool output is never parsed as markup.
 */
export function h<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Readonly<Record<string, Attribute>> = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[Tag] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === false) continue;
    if (typeof value === "function") element.addEventListener(name, value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

/** Replaces an element's children. */
export function fill(element: Element, ...children: readonly Child[]): void {
  element.replaceChildren(...children.filter((child) => child !== null));
}

let ids = 0;

/** A unique element ID. */
export function newId(): string {
  return `e${++ids}`;
}

/** A short label. Its text carries the meaning, never the colour alone. */
export function badge(text: string, kind: "plain" | "good" | "warn" | "bad" = "plain", title = ""): HTMLElement {
  return h("span", { class: `badge ${kind}`, title: title === "" ? null : title }, text);
}

/** A section with a heading. */
export function card(heading: string, ...children: readonly Child[]): HTMLElement {
  const id = newId();
  return h("section", { class: "card", "aria-labelledby": id }, h("h2", { id }, heading), ...children);
}

/** A table in a scrollable box that the keyboard can reach. */
export function table(label: string, heads: readonly string[], rows: readonly (readonly Child[])[]): HTMLElement {
  const head = h("tr", {}, ...heads.map((text) => h("th", { scope: "col" }, text)));
  const body = rows.map((cells) => h("tr", {}, ...cells.map((cell) => h("td", {}, cell))));
  return scrollBox(
    label,
    "table-box",
    h("table", {}, h("caption", { class: "unseen" }, label), h("thead", {}, head), h("tbody", {}, ...body)),
  );
}

/** A scrollable box that the keyboard can reach. */
export function scrollBox(label: string, style: string, ...children: readonly Child[]): HTMLElement {
  return h("div", { class: style, tabindex: 0, role: "group", "aria-label": label }, ...children);
}

const region = h("p", { class: "unseen", role: "status", "aria-live": "polite" });

/** Live region for screen readers; `announce` writes to it. */
export function liveRegion(): HTMLElement {
  return region;
}

export function announce(text: string): void {
  region.textContent = text;
}
