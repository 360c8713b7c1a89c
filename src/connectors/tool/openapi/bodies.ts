import { isObject } from "../../../kernel/base/json.ts";
import type { OpenApiBody } from "../../../kernel/guest/host.ts";
import { shortText } from "../remote-tool.ts";
import { type Json, LeftOut, type OpenApiDocument } from "./document.ts";
import { fieldsOf } from "./fields.ts";
import { type Kind, mediaTypeOf, sequenceFinding } from "./media-types.ts";
import type { Argument } from "./parameters.ts";

const BODY = "body";
const DESCRIPTION_MAX = 200;
/** Depth of nested choices, below which files are not searched for. */
const DEPTH_MAX = 8;
const FORM_PARTS = ["allOf", "anyOf", "oneOf"];
const MEMBER_PARTS = [...FORM_PARTS, "items"];
const NO_BODY = new Set(["GET", "HEAD"]);

/** The body of an operation's requests. */
export interface RequestBody {
  readonly body: OpenApiBody;
  readonly argument: Argument;
  readonly finding: string | null;
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
  const type = mediaTypeOf(document, content, ["json", "form", "multipart", "text", "bytes"], "takes");
  if (type === null) return null;
  const { schema = type.kind === "text" ? { type: "string" } : true, encoding } = type.content;
  const fields = type.kind === "form" || type.kind === "multipart" ? fieldsOf(type.kind, encoding) : [];
  return {
    body: { property: BODY, mediaType: type.name, encoding: type.kind, fields },
    argument: {
      property: BODY,
      schema: argumentSchema(document, type.kind, schema, takesPaths ? FILE_OR_PATH : FILE),
      description: typeof description === "string" ? shortText(description, DESCRIPTION_MAX) : "",
      isRequired: required === true,
    },
    finding: type.kind === "text" ? sequenceFinding(type, "its body") : null,
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

/** A form whose members for bytes become files; else the same schema. */
function withFiles(document: OpenApiDocument, schema: unknown, file: FileSchema, depth = 0): unknown {
  const form = followed(document, schema);
  if (form === null || depth > DEPTH_MAX) return schema;
  const { properties } = form;
  const members = isObject(properties) ? Object.entries(properties) : [];
  const read = members.map(([name, member]) => [name, fileOr(document, member, file, 0)] as const);
  const own = read.some(([, member], at) => member !== members[at]?.[1])
    ? { properties: Object.fromEntries(read) }
    : {};
  const parts = { ...own, ...mapped(form, FORM_PARTS, (part) => withFiles(document, part, file, depth + 1)) };
  return Object.keys(parts).length === 0 ? schema : { ...form, ...parts };
}

/** A member of a form: a file, a list of files or a choice with one; else the same schema. */
function fileOr(document: OpenApiDocument, schema: unknown, file: FileSchema, depth: number): unknown {
  const member = followed(document, schema);
  if (member === null || depth > DEPTH_MAX) return schema;
  if (isBytes(member)) {
    const isNullable = member["nullable"] === true || [member["type"]].flat().includes("null");
    return isNullable ? { anyOf: [file, { type: "null" }] } : file;
  }
  const parts = mapped(member, MEMBER_PARTS, (part) => fileOr(document, part, file, depth + 1));
  return Object.keys(parts).length === 0 ? schema : { ...member, ...parts };
}

/** The schema that a reference leads to; `null` if it cannot be read: the finding is made elsewhere. */
function followed(document: OpenApiDocument, schema: unknown): Json | null {
  try {
    return isObject(schema) ? document.follow(schema) : null;
  } catch (error) {
    if (error instanceof LeftOut) return null;
    throw error;
  }
}

/** Of these keywords, those whose schemas change. */
function mapped(schema: Json, keywords: readonly string[], change: (part: unknown) => unknown): Json {
  const changed = keywords.flatMap((keyword) => {
    const value = schema[keyword];
    if (!Array.isArray(value)) {
      const one = value === undefined ? value : change(value);
      return one === value ? [] : [[keyword, one] as const];
    }
    const all = value.map(change);
    return all.some((one, at) => one !== value[at]) ? [[keyword, all] as const] : [];
  });
  return Object.fromEntries(changed);
}

/** OpenAPI 3.0 declares it by its format, 3.1 by the media type of its content. */
function isBytes({ format, contentMediaType, contentEncoding }: Json): boolean {
  return format === "binary" || (typeof contentMediaType === "string" && contentEncoding === undefined);
}
