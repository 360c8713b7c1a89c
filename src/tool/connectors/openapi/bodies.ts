import { isObject } from "../../../base/json.ts";
import type { OpenApiBody, OpenApiForm } from "../../../guest/host.ts";
import { shortText } from "../remote-tool.ts";
import { type Json, LeftOut, type OpenApiDocument, shownText } from "./document.ts";
import { mediaTypeOf } from "./media-types.ts";
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
export function readBody(document: OpenApiDocument, method: string, requestBody: unknown): RequestBody | null {
  if (requestBody === undefined) return null;
  const described = document.follow(requestBody);
  const { content, required, description } = described;
  if (NO_BODY.has(method)) {
    if (required === true) throw new LeftOut(`it takes a body with ${method}`);
    return null;
  }
  const type = mediaTypeOf(content, ["json", "form", "text"], "takes");
  if (type === null) return null;
  const { schema = type.kind === "text" ? { type: "string" } : true, encoding } = type.content;
  const fields = type.kind === "form" && isObject(encoding) ? fieldsOf(encoding) : [];
  return {
    body: { property: BODY, mediaType: type.name, encoding: type.kind, fields },
    argument: {
      property: BODY,
      schema: type.kind === "text" ? { type: "string" } : schema,
      description: typeof description === "string" ? shortText(description, DESCRIPTION_MAX) : "",
      isRequired: required === true,
    },
  };
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
