import { isObject } from "../../../kernel/base/json.ts";
import type { OpenApiBody, OpenApiForm } from "../../../kernel/guest/host.ts";
import { shortText } from "../remote-tool.ts";
import { type Json, LeftOut, type OpenApiDocument, shownText } from "./document.ts";
import { type Kind, mediaTypeOf } from "./media-types.ts";
import type { Argument } from "./parameters.ts";

const BODY = "body";
const FIELDS_MAX = 200;
const DESCRIPTION_MAX = 200;
const NO_BODY = new Set(["GET", "HEAD"]);
const STYLES = ["form", "spaceDelimited", "pipeDelimited", "deepObject"] as const satisfies OpenApiForm["style"][];

/** The body of an operation's requests. */
export interface RequestBody {
  readonly body: OpenApiBody;
  readonly argument: Argument;
}

/** Throws a `LeftOut`. `null`: requests have no body. */
export function readBody(
  document: OpenApiDocument,
  method: string,
  requestBody: unknown,
  takesPaths: boolean,
): RequestBody | null {
  if (requestBody === undefined) return null;
  const described = document.follow(requestBody);
  const { content, required, description } = described;
  if (NO_BODY.has(method)) {
    if (required === true) throw new LeftOut(`it takes a body with ${method}`);
    return null;
  }
  const type = mediaTypeOf(content, ["json", "form", "multipart", "text", "bytes"], "takes");
  if (type === null) return null;
  const { schema = type.kind === "text" ? { type: "string" } : true, encoding } = type.content;
  const fields = type.kind === "form" && isObject(encoding) ? fieldsOf(encoding) : [];
  return {
    body: { property: BODY, mediaType: type.name, encoding: type.kind, fields },
    argument: {
      property: BODY,
      schema: argumentSchema(document, type.kind, schema, takesPaths ? FILE_OR_PATH : FILE),
      description: typeof description === "string" ? shortText(description, DESCRIPTION_MAX) : "",
      isRequired: required === true,
    },
  };
}

/** A file as an argument. */
const FILE = {
  type: "object",
  description: "A file: its bytes as Base64.",
  properties: { base64: { type: "string" }, filename: { type: "string" }, mediaType: { type: "string" } },
  required: ["base64"],
};

/** Either that, or a file that the host reads. */
const FILE_OR_PATH = {
  anyOf: [
    FILE,
    {
      ...FILE,
      description: "A file of a mount, such as /data/a.pdf.",
      properties: { ...FILE.properties, base64: false, path: { type: "string" } },
      required: ["path"],
    },
  ],
};

type FileSchema = typeof FILE | typeof FILE_OR_PATH;

function argumentSchema(document: OpenApiDocument, kind: Kind, schema: unknown, file: FileSchema): unknown {
  if (kind === "text") return { type: "string" };
  if (kind === "bytes") return file;
  return kind === "multipart" ? withFiles(document, schema, file) : schema;
}

/** The members of a form, in which texts that stand for bytes are files. */
function withFiles(document: OpenApiDocument, schema: unknown, file: FileSchema): unknown {
  if (!isObject(schema)) return schema;
  const form = document.follow(schema);
  const { properties } = form;
  if (!isObject(properties)) return schema;
  const members = Object.entries(properties).map(([name, member]) => {
    const list = isObject(member) && isObject(member["items"]) && isBytes(member["items"]);
    return [name, isBytes(member) ? file : list ? { type: "array", items: file } : member] as const;
  });
  return { ...form, properties: Object.fromEntries(members) };
}

/** OpenAPI 3.0 says so by its format, 3.1 by the media type of its content. */
function isBytes(schema: unknown): boolean {
  if (!isObject(schema)) return false;
  const { format, contentMediaType, contentEncoding } = schema;
  return format === "binary" || (typeof contentMediaType === "string" && contentEncoding === undefined);
}

function fieldsOf(encoding: Json): readonly OpenApiForm[] {
  return Object.entries(encoding)
    .slice(0, FIELDS_MAX)
    .flatMap(([name, value]): readonly OpenApiForm[] => {
      const { style, explode, contentType } = isObject(value) ? value : {};
      if (style === undefined && explode === undefined) {
        return typeof contentType === "string" && /json/i.test(contentType)
          ? [{ name, style: "json", isExploded: false }]
          : [];
      }
      const known = STYLES.find((one) => one === (style ?? "form"));
      if (known === undefined) throw new LeftOut(`its form has the style ${shownText(style)}`);
      return [{ name, style: known, isExploded: typeof explode === "boolean" ? explode : known === "form" }];
    });
}
