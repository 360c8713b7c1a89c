import { isObject, type JsonSchema } from "../../kernel/base/json.ts";
import type { ToolDescription } from "../../standard/contracts.ts";

/** An argument that clients repeat in a header, so that gateways can route by it (`x-mcp-header` in its schema). */
interface ParamHeader {
  readonly path: readonly string[];
  readonly name: string;
  readonly type: string;
}

/** A header that contradicts the arguments. */
export interface HeaderMismatch {
  readonly header: string;
  readonly problem: string;
}

const PREFIX = "Mcp-Param-";
const DECLARATION = "x-mcp-header";
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const TYPES: ReadonlySet<unknown> = new Set(["string", "integer", "number", "boolean"]);
const NUMBER = /^-?\d+(?:\.\d+)?$/;
/** A value that must be encoded in a header. */
const ENCODED = /^=\?base64\?(.*)\?=$/s;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
/** Maximum number of such headers of a tool. */
const HEADERS_MAX = 64;
const NO_HEADERS: readonly ParamHeader[] = [];

const known = new WeakMap<ToolDescription, readonly ParamHeader[]>();

/**
 * The first header that a call's arguments contradict; `null` if none does. An absent argument, or `null`, needs no
 * header; any other needs an equal one.
 */
export function findMismatch(tool: ToolDescription, args: unknown, headers: Headers): HeaderMismatch | null {
  for (const { path, name, type } of headersOf(tool)) {
    const value = path.reduce((part, key) => (isObject(part) ? part[key] : undefined), args);
    const expected = writeValue(value);
    if (expected === null) continue;
    const header = PREFIX + name;
    const said = headers.get(header);
    if (said === null) return { header, problem: "it is missing, though the argument is there" };
    const read = readValue(said);
    if (read === null) return { header, problem: "its Base64 is invalid" };
    const isNumber = typeof value === "number" && type !== "string" && NUMBER.test(read);
    if (isNumber ? Number(read) !== value : read !== expected) return { header, problem: "the argument differs" };
  }
  return null;
}

/** Read once if a description cannot change, as with an engine's tools. */
function headersOf(tool: ToolDescription): readonly ParamHeader[] {
  const found = known.get(tool) ?? readHeaders(tool.inputSchema);
  if (Object.isFrozen(tool)) known.set(tool, found);
  return found;
}

/** The headers that a schema declares; none if a declaration is invalid, because clients refuse such a tool. */
function readHeaders(schema: JsonSchema): readonly ParamHeader[] {
  const found = new Map<string, ParamHeader>();
  const open: { readonly part: unknown; readonly path: readonly string[] }[] = [{ part: schema, path: [] }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { part, path } = next;
    if (!isObject(part)) continue;
    const { [DECLARATION]: name, type, properties } = part;
    if (name !== undefined) {
      const isValid = path.length > 0 && typeof name === "string" && TOKEN.test(name) && typeof type === "string";
      if (!isValid || !TYPES.has(type) || found.has(name.toLowerCase()) || found.size === HEADERS_MAX)
        return NO_HEADERS;
      found.set(name.toLowerCase(), { path, name, type });
    }
    if (!isObject(properties)) continue;
    for (const [key, each] of Object.entries(properties)) open.push({ part: each, path: [...path, key] });
  }
  return found.size === 0 ? NO_HEADERS : [...found.values()];
}

/** An argument as a header's text; `null` for one that needs no header. */
function writeValue(value: unknown): string | null {
  if (typeof value === "string") return value;
  if (typeof value === "boolean") return String(value);
  if (typeof value !== "number" || (Number.isInteger(value) && !Number.isSafeInteger(value))) return null;
  return String(value);
}

/** The text of a header; `null` if it is encoded, and in a wrong way. */
function readValue(header: string): string | null {
  const encoded = ENCODED.exec(header)?.[1];
  if (encoded === undefined) return header;
  if (!BASE64.test(encoded)) return null;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(Buffer.from(encoded, "base64"));
  } catch {
    return null;
  }
}
