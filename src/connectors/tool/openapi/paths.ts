import { LeftOut } from "./document.ts";

/** The path of an operation in requests: below the server's URL, with the constant part of the query. */
export interface SentPath {
  readonly path: string;
  /** Names of the parts of its query. */
  readonly query: ReadonlySet<string>;
}

const PATH_MAX = 1_000;
/** A segment that a URL parser reads as a step up, and characters that no path may have. */
const LEADS_ELSEWHERE = /^[^/]|[#\\\s]|(?:^|\/)(?:\.|%2e){1,2}(?:\/|$)/i;
/** Documents distinguish operations of one path by a fragment: it is not sent. */
const FRAGMENT = /#[^/{}]*$/;

/**
 * The specification allows neither a fragment nor a query in a path, and documents have both. `described`: names of the
 * parameters in the query, which are sent as such. Throws a `LeftOut`.
 */
export function sentPath(given: string, described: ReadonlySet<string>): SentPath {
  const [path = "", query = "", ...more] = given
    .slice(0, PATH_MAX + 1)
    .replace(FRAGMENT, "")
    .split("?");
  if (given.length > PATH_MAX || LEADS_ELSEWHERE.test(path) || /[#\\\s]/.test(query) || more.length > 0) {
    throw new LeftOut("its path cannot be sent");
  }
  const parts = query.split("&").filter((part) => part !== "" && !(part.includes("{") && described.has(nameOf(part))));
  return { path: parts.length === 0 ? path : `${path}?${parts.join("&")}`, query: new Set(parts.map(nameOf)) };
}

function nameOf(part: string): string {
  return part.split("=", 1)[0] ?? part;
}
