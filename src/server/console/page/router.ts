import { computed, signal } from "@preact/signals";

/** Pages by the first part of their addresses. */
export const PAGES = ["", "tools", "calls", "approvals", "policy", "program", "registry", "fleet"] as const;
export type PageName = (typeof PAGES)[number];

/** The address as state: it has the state of a view, so that it can be shared. */
export interface Route {
  readonly page: PageName;
  /** The subject of the page: a tool, a call, a record. */
  readonly name: string | null;
  readonly query: Readonly<Record<string, string>>;
}

const address = signal(location.hash);
addEventListener("hashchange", () => (address.value = location.hash));

export const route = computed(() => readAddress(address.value));

/** Whether the server has a part, by its document. */
export function has(part: "calls" | "codeMode" | "registry"): boolean {
  return part in document.body.dataset;
}

/** Goes to another view. */
export function go(target: string): void {
  location.hash = target;
  // The event comes later than the next key.
  address.value = location.hash;
}

/** Changes parts of the query; `null` and empty texts leave one out. `isKept`: the former address stays in the history. */
export function setQuery(changes: Readonly<Record<string, string | null>>, isKept = true): void {
  const { page, name, query } = route.value;
  const target = addressOf(page, name, { ...query, ...changes });
  if (isKept) return go(target);
  history.replaceState(null, "", target);
  address.value = target;
}

export function addressOf(
  page: PageName,
  name: string | null,
  query: Readonly<Record<string, string | null>> = {},
): string {
  const given = Object.entries(query).filter((entry): entry is [string, string] => (entry[1] ?? "") !== "");
  const text = new URLSearchParams(given).toString();
  return `#/${page}${name === null ? "" : `/${encodeURIComponent(name)}`}${text === "" ? "" : `?${text}`}`;
}

/** Addresses of no page lead to the overview. */
function readAddress(hash: string): Route {
  const [, first = "", name, search] = /^#\/([a-z]*)(?:\/([^?]+))?(?:\?(.*))?$/.exec(hash) ?? [];
  const page = PAGES.find((one) => one === first) ?? "";
  const query = Object.fromEntries(new URLSearchParams(search ?? ""));
  return { page, name: name === undefined ? null : decode(name), query };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
