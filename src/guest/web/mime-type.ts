/** A MIME type: what it is, in lower case, and its parameters. */
export interface MimeType {
  readonly essence: string;
  readonly parameters: ReadonlyMap<string, string>;
}

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** What a parameter's value may hold where it stands in quotes. */
// oxlint-disable-next-line no-control-regex
const QUOTABLE = /^[\t\x20-\x7e\x80-\xff]*$/;
/** A parameter's name, then a value in quotes and what follows it, or a plain value. */
const PARAMETER = /;[\t\n\r ]*([^;="]*)(?:=(?:"((?:[^"\\]|\\[^])*)(?:"[^;]*|\\?$)|([^;]*)))?/g;

/** Reads a MIME type by the rules of the web; `undefined` where it is none. */
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

/** Writes a MIME type; values that are no tokens stand in quotes. */
export function serializeMimeType({ essence, parameters }: MimeType): string {
  const written = [...parameters].map(([name, value]) => {
    return `;${name}=${TOKEN.test(value) ? value : `"${value.replace(/["\\]/g, "\\$&")}"`}`;
  });
  return essence + written.join("");
}

/** The MIME type of `content-type` headers, of which there may be several: the last one that is valid counts. */
export function extractMimeType(values: readonly string[]): MimeType | undefined {
  const types = values.flatMap(splitList).map(parseMimeType);
  return types.findLast((type) => type !== undefined && type.essence !== "*/*");
}

/** The items of a header with commas, of which those in quotes are not counted. */
function splitList(value: string): string[] {
  return value.match(/(?:[^",]|"(?:[^"\\]|\\[^])*(?:"|$))+/g) ?? [];
}
