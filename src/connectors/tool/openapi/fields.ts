import { isObject } from "../../../kernel/base/json.ts";
import type { OpenApiForm } from "../../../kernel/guest/host.ts";
import { LeftOut, shownText } from "./document.ts";
import { JSON_TYPE, TYPE } from "./media-types.ts";

const FIELDS_MAX = 200;
/** Length of a list of media types. */
const TYPES_MAX = 200;
const STYLES = ["form", "spaceDelimited", "pipeDelimited", "deepObject"] as const satisfies OpenApiForm["style"][];

/** Members of a form that are not written as by default. Throws a `LeftOut`. */
export function fieldsOf(kind: "form" | "multipart", encoding: unknown): readonly OpenApiForm[] {
  return (isObject(encoding) ? Object.entries(encoding) : []).slice(0, FIELDS_MAX).flatMap(([name, value]) => {
    const { style, explode, allowReserved, contentType } = isObject(value) ? value : {};
    if (style === undefined && explode === undefined && allowReserved === undefined) {
      return fieldOfType(kind, name, contentType);
    }
    const known = STYLES.find((one) => one === (style ?? "form"));
    if (known === undefined) throw new LeftOut(`its form has the style ${shownText(style)}`);
    const isReserved = kind === "form" && allowReserved === true ? { isReserved: true } : {};
    return [
      { name, style: known, isExploded: typeof explode === "boolean" ? explode : known === "form", ...isReserved },
    ];
  });
}

/** A member whose media type the document names: the first of a list, unless it is a wildcard. */
function fieldOfType(kind: "form" | "multipart", name: string, contentType: unknown): readonly OpenApiForm[] {
  const [first = ""] = typeof contentType === "string" ? contentType.slice(0, TYPES_MAX).split(",") : [];
  const mediaType = first.trim();
  if (mediaType.includes("*") || !TYPE.test(mediaType)) return [];
  const isJson = JSON_TYPE.test(mediaType);
  if (kind === "form") return isJson ? [{ name, style: "json", isExploded: false }] : [];
  return [{ name, style: isJson ? "json" : "form", isExploded: true, mediaType }];
}
