import { isObject } from "../../../kernel/base/json.ts";
import { type Json, LeftOut, type OpenApiDocument } from "./document.ts";
import { type MediaType, mediaTypeOf, sequenceFinding } from "./media-types.ts";

const SUCCESS = /^2(?:\d\d|XX)$/i;
const REDIRECT = /^3\d\d$/;

/** An answer that is no text. */
const BYTES = {
  type: "object",
  properties: { base64: { type: "string" }, mediaType: { type: "string" } },
  required: ["base64", "mediaType"],
};

/** Answers of a successful operation. */
export interface Answers {
  /** The media type to accept; `null` if the document names none. */
  readonly accept: string | null;
  /** Schemas of which an output matches one; `null`: it is unknown. */
  readonly schemas: readonly unknown[] | null;
  readonly finding: string | null;
}

/** Throws a `LeftOut` for an operation with endless answers. */
export function readAnswers(document: OpenApiDocument, responses: unknown): Answers {
  const all = isObject(responses) ? Object.entries(responses) : [];
  const successes = all.filter(([status]) => SUCCESS.test(status));
  if (successes.length === 0) {
    const fallback = all.find(([status]) => status === "default");
    if (fallback === undefined && all.some(([status]) => REDIRECT.test(status))) {
      throw new LeftOut("it answers with a redirect only");
    }
    // It usually describes an error.
    const type = fallback === undefined ? null : typeOf(document, fallback[1]);
    return { accept: type?.name ?? null, schemas: null, finding: findingOf(type) };
  }
  const types: (MediaType | null)[] = [];
  let reason: LeftOut | undefined;
  for (const [, response] of successes) {
    try {
      types.push(typeOf(document, response));
    } catch (error) {
      if (!(error instanceof LeftOut)) throw error;
      reason = error;
    }
  }
  const told = types.filter((type) => type !== null);
  if (told.length === 0 && reason !== undefined) throw reason;
  const accept = told.find(({ kind }) => kind === "json") ?? told[0];
  const schemas = reason === undefined ? schemasOf(types) : null;
  return { accept: accept?.name ?? null, schemas, finding: findingOf(accept) };
}

function findingOf(type: MediaType | null | undefined): string | null {
  return type?.kind === "text" ? sequenceFinding(type, "its answer") : null;
}

/** The media type of a response. An invalid name means any media type. */
function typeOf(document: OpenApiDocument, response: unknown): MediaType | null {
  const { content } = document.follow(response);
  const names = isObject(content) ? Object.keys(content) : [];
  const isUnknown = names.length > 0 && !names.some((name) => name.includes("/"));
  const told = isUnknown ? { "*/*": {} } : content;
  return mediaTypeOf(document, told, ["json", "text", "bytes"], "answers with");
}

function schemasOf(types: readonly (MediaType | null)[]): readonly unknown[] | null {
  const schemas = types.map((type) => (type === null ? { type: "null" } : schemaOf(type)));
  // A success without a described answer, such as 200 without content, may have one all the same.
  const isKnown = types.some((type) => type !== null) && !schemas.includes(undefined);
  return isKnown ? schemas : null;
}

function schemaOf({ kind, content }: MediaType): unknown {
  if (kind === "bytes") return BYTES;
  return kind === "text" ? { type: "string" } : (content as Json)["schema"];
}
