import { isObject } from "../../../kernel/base/json.ts";
import { shortText } from "../remote-tool.ts";
import { type Json, LeftOut, type OpenApiDocument } from "./document.ts";

/** Media types of JSON, and those that leave it open: nearly all servers then speak JSON. */
export const JSON_TYPE = /^(?:application\/(?:[\w.+-]*\+)?json|text\/json|\*\/\*|application\/\*)\s*(?:;|$)/i;
const FORM_TYPE = /^application\/x-www-form-urlencoded\s*(?:;|$)/i;
const TEXT_TYPE =
  /^(?:text\/(?!event-stream)[\w.*+-]+|application\/(?:[\w.+-]*\+)?(?:text|xml|yaml|x-yaml|(?:x-)?ndjson|jsonl|json-seq))\s*(?:;|$)/i;
const MULTIPART_TYPE = /^multipart\/form-data\s*(?:;|$)/i;
/** Any other but a stream of events, which has no end. */
const BYTES_TYPE = /^(?!multipart\/|text\/event-stream)[\w.*+-]+\/[\w.*+-]+\s*(?:;|$)/i;
const KINDS = [
  ["json", JSON_TYPE],
  ["form", FORM_TYPE],
  ["multipart", MULTIPART_TYPE],
  ["text", TEXT_TYPE],
  ["bytes", BYTES_TYPE],
] as const;
const TYPES_MAX = 50;
const TYPE_MAX = 100;
/** Parts of a header's value. */
export const TYPE = /^[\w!#$&^.+*-]+\/[\w!#$&^.+*-]+(?:\s*;\s*[\w.+-]+=[\w.+"/:-]+)*$/;

export type Kind = (typeof KINDS)[number][0];

/** One of the media types in which a body is described. */
export interface MediaType {
  readonly kind: Kind;
  /** The name in requests: the usual one if the document has a wildcard. */
  readonly name: string;
  readonly content: Json;
}

/**
 * The first media type of the first of these kinds; `null` without content. Throws a `LeftOut` if it has only other
 * kinds.
 */
export function mediaTypeOf(
  document: OpenApiDocument,
  content: unknown,
  kinds: readonly Kind[],
  verb: string,
): MediaType | null {
  if (!isObject(content)) return null;
  const types = Object.keys(content)
    .slice(0, TYPES_MAX)
    .filter((type) => type.length <= TYPE_MAX);
  if (types.length === 0) return null;
  for (const kind of kinds) {
    const [, test] = KINDS.find(([one]) => one === kind) ?? [];
    const key = types.find((type) => test?.test(type) === true);
    const found = key === undefined ? undefined : content[key];
    const name = [key, key?.split(";")[0]?.trim()].find((one) => one !== undefined && TYPE.test(one));
    if (name === undefined) continue;
    const sent = kind === "text" ? "text/plain" : kind === "bytes" ? "application/octet-stream" : "application/json";
    return { kind, name: name.includes("*") ? sent : name, content: isObject(found) ? document.follow(found) : {} };
  }
  throw new LeftOut(
    `it ${verb} ${types
      .map((type) => shortText(type, TYPE_MAX))
      .slice(0, 3)
      .join(", ")}`,
  );
}

/** The finding about a body that the document describes item by item; `null` for another body. */
export function sequenceFinding({ name, content }: MediaType, subject: string): string | null {
  if (content["itemSchema"] === undefined) return null;
  return `${subject} is a sequence of items, ${name}: it is one text, whose items are not checked`;
}
