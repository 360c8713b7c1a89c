import { isObject } from "../../../kernel/base/json.ts";
import type { OpenApiForm, OpenApiParameter } from "../../../kernel/guest/host.ts";
import { shortText } from "../remote-tool.ts";
import { type Json, LeftOut, type OpenApiDocument, shownText } from "./document.ts";
import { fieldsOf } from "./fields.ts";
import { JSON_TYPE, mediaTypeOf } from "./media-types.ts";
import { sentPath } from "./paths.ts";

/** Form of the arguments of an operation, in one place of the request. */
export interface Argument {
  readonly property: string;
  readonly schema: unknown;
  readonly description: string;
  readonly isRequired: boolean;
}

/** The parameters of an operation, and those left out. */
export interface Parameters {
  /** The path of the operation in requests. */
  readonly path: string;
  readonly parameters: readonly OpenApiParameter[];
  readonly arguments: readonly Argument[];
  readonly idempotencyHeader: string | null;
  readonly findings: readonly string[];
}

/** Headers and parts of the query that the connector itself sends; in lower case. */
export interface SentByConnector {
  readonly headers: ReadonlySet<string>;
  readonly query: ReadonlySet<string>;
}

interface Described {
  readonly name: string;
  readonly in: OpenApiParameter["in"];
  readonly form: Omit<OpenApiParameter, "name" | "property" | "in">;
  readonly schema: unknown;
  readonly description: string;
  readonly isRequired: boolean;
}

const PARAMETERS_MAX = 300;
const NAME_MAX = 200;
const DESCRIPTION_MAX = 200;
const IDEMPOTENCY = "idempotency-key";
/**
 * Headers that are no arguments: the specification describes some of them elsewhere, by media types and by security
 * schemes, and others are part of each request.
 */
const ELSEWHERE = new Set(
  ["accept", "content-type", "authorization"].concat([
    "host",
    "content-length",
    "transfer-encoding",
    "connection",
    "accept-encoding",
  ]),
);
/** Headers of the connection. */
const OF_HOST =
  /^(?:content-encoding|keep-alive|te|trailer|upgrade|expect|via|cookie2?|set-cookie2?|origin|date|dnt|accept-charset|access-control-.*|proxy-.*|sec-.*)$/;
const TOKEN = /^[\w!#$%&'*+.^`|~-]+$/;
const STYLES: { readonly [Place in Exclude<OpenApiParameter["in"], "querystring">]: readonly OpenApiForm["style"][] } =
  {
    path: ["simple", "label", "matrix"],
    query: ["form", "spaceDelimited", "pipeDelimited", "deepObject"],
    header: ["simple"],
    cookie: ["form", "cookie"],
  };

/**
 * The parameters of an operation: its own, and those of its path that it does not override. Throws a `LeftOut` if a
 * required one cannot be represented.
 */
export function readParameters(
  document: OpenApiDocument,
  given: string,
  lists: readonly unknown[],
  sent: SentByConnector,
): Parameters {
  const listed = merged(document, lists);
  const { path, query } = sentPath(given, new Set(listed.flatMap(queryNameOf)));
  const findings: string[] = [];
  const described: Described[] = [];
  let idempotencyHeader: string | null = null;
  for (const parameter of listed) {
    const { name } = parameter;
    if (isSent(parameter, sent) || queryNameOf(parameter).some((one) => query.has(one))) continue;
    if (parameter["in"] === "header" && lower(name) === IDEMPOTENCY) idempotencyHeader = String(name);
    else {
      try {
        described.push(describe(document, parameter));
      } catch (error) {
        if (!(error instanceof LeftOut) || parameter["required"] === true) throw error;
        findings.push(`without the parameter ${shortText(String(name), NAME_MAX)}: ${error.message}`);
      }
    }
  }
  const named = namesIn(path);
  const all = [
    ...described.filter((one) => one.in !== "path" || named.has(one.name)),
    ...[...named].filter((name) => !described.some((one) => one.in === "path" && one.name === name)).map(undescribed),
  ];
  return { path, ...withProperties(all), idempotencyHeader, findings };
}

function queryNameOf({ name, in: place }: Json): readonly string[] {
  return place === "query" ? [String(name)] : [];
}

/** Names of the parameters in a path. */
function namesIn(path: string): ReadonlySet<string> {
  return new Set(path.matchAll(/\{([^{}]*)\}/g).map(([, name = ""]) => name));
}

/** Parameters of all lists: a later one replaces an earlier one of the same name and place. */
function merged(document: OpenApiDocument, lists: readonly unknown[]): readonly Json[] {
  const all = new Map<string, Json>();
  for (const list of lists) {
    if (!Array.isArray(list)) continue;
    const own = new Set<string>();
    for (const value of list) {
      const parameter = document.follow(value);
      const { in: place, name = place === "querystring" ? place : undefined } = parameter;
      if (typeof name !== "string" || typeof place !== "string") throw new LeftOut("a parameter has no name or place");
      if (name.length > NAME_MAX) throw new LeftOut(`the name of a parameter is longer than ${NAME_MAX} characters`);
      const key = `${place.slice(0, NAME_MAX)} ${place === "header" ? name.toLowerCase() : name}`;
      if (own.has(key)) throw new LeftOut(`the ${shortText(key, NAME_MAX)} is described twice`);
      own.add(key);
      all.set(key, { ...parameter, name });
      if (all.size > PARAMETERS_MAX) throw new LeftOut(`it has more than ${PARAMETERS_MAX} parameters`);
    }
  }
  return [...all.values()];
}

function isSent({ name, in: place }: Json, { headers, query }: SentByConnector): boolean {
  if (place === "header") return ELSEWHERE.has(lower(name)) || headers.has(lower(name));
  return place === "query" && query.has(lower(name));
}

/** Throws a `LeftOut`. */
function describe(document: OpenApiDocument, parameter: Json): Described {
  const { name, in: place, required, description } = parameter;
  const told = {
    name: String(name),
    description: typeof description === "string" ? shortText(description, DESCRIPTION_MAX) : "",
    isRequired: place === "path" || required === true,
  };
  if (place === "querystring") return { ...told, in: place, ...wholeQuery(document, parameter) };
  if (place !== "path" && place !== "query" && place !== "header" && place !== "cookie")
    throw new LeftOut("its place is unknown");
  if (place === "header" && OF_HOST.test(lower(name))) throw new LeftOut("only the host sets this header");
  if ((place === "header" || place === "cookie") && !TOKEN.test(told.name))
    throw new LeftOut(`it is no name of a ${place}`);
  const { schema, style = place === "query" || place === "cookie" ? "form" : "simple", explode } = parameter;
  if (schema === undefined && isObject(parameter["content"])) {
    const [type, content] = Object.entries(parameter["content"])[0] ?? ["", {}];
    if (type.length > NAME_MAX || !JSON_TYPE.test(type)) throw new LeftOut(`its media type is ${shownText(type)}`);
    const { schema: inside = true } = document.follow(content);
    return { ...told, in: place, form: { style: "json", isExploded: false }, schema: inside };
  }
  const known = STYLES[place].find((one) => one === style);
  if (known === undefined) throw new LeftOut(`its style is ${shownText(style)}`);
  const isExploded = typeof explode === "boolean" ? explode : known === "form" || known === "cookie";
  const isReserved = place === "query" && parameter["allowReserved"] === true;
  const form = { style: known, isExploded, ...(isReserved ? { isReserved } : {}) };
  return { ...told, in: place, form, schema: schema ?? true };
}

/** The whole query as one argument: a form, JSON, or a text of another media type. Throws a `LeftOut`. */
function wholeQuery(document: OpenApiDocument, { content }: Json): Pick<Described, "form" | "schema"> {
  const type = mediaTypeOf(document, content, ["form", "json", "text", "bytes"], "has a query of");
  if (type === null) throw new LeftOut("its query has no media type");
  const { schema = true, encoding } = type.content;
  switch (type.kind) {
    case "form":
      return { form: { style: "form", isExploded: true, fields: fieldsOf("form", encoding) }, schema };
    case "json":
      return { form: { style: "json", isExploded: false }, schema };
    case "text":
    case "bytes":
    case "multipart":
      return { form: { style: "simple", isExploded: false }, schema: { type: "string" } };
  }
}

/** An undescribed part of a path. */
function undescribed(name: string): Described {
  const form = { style: "simple", isExploded: false } as const;
  return { name, in: "path", form, schema: { type: "string" }, description: "", isRequired: true };
}

/** Gives each parameter a property of the arguments: its name, or name and place if the name is not unique. */
function withProperties(all: readonly Described[]): Pick<Parameters, "parameters" | "arguments"> {
  const counts = new Map<string, number>([["body", 1]]);
  for (const { name } of all) counts.set(name, (counts.get(name) ?? 0) + 1);
  const taken = new Set<string>(["body"]);
  const found = all.map((one) => {
    const property = (counts.get(one.name) ?? 0) > 1 ? `${one.in}_${one.name}` : one.name;
    if (taken.has(property)) throw new LeftOut(`two of its parameters would be ${shortText(property, NAME_MAX)}`);
    taken.add(property);
    return { ...one, property };
  });
  return {
    parameters: found.map(({ name, property, in: place, form }) => ({ name, property, in: place, ...form })),
    arguments: found.map(({ property, schema, description, isRequired }) => {
      return { property, schema, description, isRequired };
    }),
  };
}

function lower(name: unknown): string {
  return typeof name === "string" ? name.toLowerCase() : "";
}
