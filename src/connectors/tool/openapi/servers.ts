import { isObject } from "../../../kernel/base/json.ts";
import { shortText } from "../remote-tool.ts";
import { LeftOut, type OpenApiDocument, refused } from "./document.ts";

const URL_MAX = 2_000;
const SERVERS_MAX = 20;

/**
 * The URL below which the operations are. `given`: the operator's, which counts more than the document's. `location`: the
 * document's own URL, to which a server is relative; a document that names none means the root of that one. Throws a
 * `GloveboxError` with `load_error`.
 */
export function serverOf({ root }: OpenApiDocument, given: string | undefined, location: string | undefined): string {
  if (given !== undefined) return baseOf(given, "the server of the connector");
  const [named] = urlsIn(root["servers"]);
  const url = location === undefined ? named : absolute(named === undefined || named === "" ? "/" : named, location);
  if (url === undefined || !/^https?:/i.test(url)) {
    const found =
      url === undefined ? "names no server" : `names the server ${shortText(url, URL_MAX)}, which is relative`;
    throw refused(`${found}; set \`server\` of the connector to its URL`);
  }
  return baseOf(url, "its server");
}

function absolute(url: string, location: string): string {
  return /[{}]/.test(url) ? url : (URL.parse(url, location)?.href ?? url);
}

/** The normalized URL, without a slash at its end. */
function baseOf(text: string, subject: string): string {
  const url = text.length > URL_MAX || /[{}]/.test(text) ? null : URL.parse(text);
  if (url === null || (url.protocol !== "https:" && url.protocol !== "http:")) {
    throw refused(`cannot be used: ${subject} is not an http or https URL: ${shortText(text, URL_MAX)}`);
  }
  if (url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "") {
    throw refused(`cannot be used: the URL of ${subject} has more than an origin and a path`);
  }
  return url.href.replace(/\/+$/, "");
}

/**
 * Refuses an operation that is at another server than all others. Throws a `LeftOut`. `lists`: the servers of its path
 * and its own, of which the last present one counts.
 */
export function checkServers({ root }: OpenApiDocument, server: string, lists: readonly unknown[]): void {
  const [url] = urlsIn(lists.findLast(Array.isArray));
  if (url === undefined || [server, ...urlsIn(root["servers"])].some((one) => placeOf(one) === placeOf(url))) return;
  throw new LeftOut(`it has a server of its own, ${shortText(url, URL_MAX)}`);
}

/** The same for URLs of one server: documents write them with and without a protocol and a slash at the end. */
function placeOf(url: string): string {
  return url.replace(/^https?:(?=\/\/)/i, "").replace(/\/+$/, "");
}

/** URLs of servers, with the defaults of their variables. */
function urlsIn(servers: unknown): readonly string[] {
  if (!Array.isArray(servers)) return [];
  return servers.slice(0, SERVERS_MAX).flatMap((server: unknown) => {
    if (!isObject(server) || typeof server["url"] !== "string" || server["url"].length > URL_MAX) return [];
    const { url, variables } = server;
    return [
      url.replaceAll(/\{([^{}]*)\}/g, (whole, name: string) => {
        const variable = isObject(variables) && Object.hasOwn(variables, name) ? variables[name] : undefined;
        const value = isObject(variable) ? variable["default"] : undefined;
        return typeof value === "string" || typeof value === "number" ? String(value).slice(0, URL_MAX) : whole;
      }),
    ];
  });
}
