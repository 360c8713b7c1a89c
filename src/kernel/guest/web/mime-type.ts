/** A MIME type: its lower-case essence (`type/subtype`) and its parameters. */
export interface MimeType {
  readonly essence: string;
  readonly parameters: ReadonlyMap<string, string>;
}

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** Valid content of a quoted parameter value. */
// oxlint-disable-next-line no-control-regex
const QUOTABLE = /^[\t\x20-\x7e\x80-\xff]*$/;
/** A parameter's name, then a quoted value with the text after it, or a plain value. */
const PARAMETER = /;[\t\n\r ]*([^;="]*)(?:=(?:"((?:[^"\\]|\\[^])*)(?:"[^;]*|\\?$)|([^;]*)))?/g;

/** Parses a MIME type by the rules of the web; `undefined` if it is invalid. */
export function parseMimeType(text: string): MimeType | undefined {
  const match = /^[\t\n\r ]*([^/;]*)\/([^;]*)/.exec(text);
  const type = match?.[1] ?? "";
  const subtype = (match?.[2] ?? "").trimEnd();
  if (match === null || !TOKEN.test(type) || !TOKEN.test(subtype)) return undefined;
  const parameters = new Map<string, string>();
  for (const [, key = "", quoted, plain] of text.slice(match[0].length).matchAll(PARAMETER)) {
    const name = key.toLowerCase();
    const value = quoted === undefined ? plain?.replace(/[\t\n\r ]+$/, "") : quoted.replace(/\\([^])/g, "$1");
    if (value === undefined || (quoted === undefined && value === "")) continue;
    if (TOKEN.test(name) && QUOTABLE.test(value) && !parameters.has(name)) parameters.set(name, value);
  }
  return { essence: `${type}/${subtype}`.toLowerCase(), parameters };
}

/** Serialises a MIME type; values that are not tokens are quoted. */
export function serializeMimeType({ essence, parameters }: MimeType): string {
  const written = [...parameters].map(([name, value]) => {
    return `;${name}=${TOKEN.test(value) ? value : `"${value.replace(/["\\]/g, "\\$&")}"`}`;
  });
  return essence + written.join("");
}

/** The MIME type of `content-type` headers: the last valid one, if there are several. */
export function extractMimeType(values: readonly string[]): MimeType | undefined {
  const types = values.flatMap(splitList).map(parseMimeType);
  return types.findLast((type) => type !== undefined && type.essence !== "*/*");
}

/** Splits a header at commas outside of quotes. */
function splitList(value: string): string[] {
  return value.match(/(?:[^",]|"(?:[^"\\]|\\[^])*(?:"|$))+/g) ?? [];
}
