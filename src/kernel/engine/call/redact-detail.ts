import { parseForWriting } from "../../base/exact-json.ts";
import { pointerSegment } from "../../base/json.ts";
import type { DetailPart, DetailTexts } from "../../store/calls/call-record.ts";
import { REDACTED } from "../../store/calls/call-redaction.ts";

/**
 * The embedder's redaction of a value, called for each text, number and boolean of a call's detail before it is kept;
 * returns the value to keep instead. `pointer`: its place in the detail, as `/arguments/user/email`. If it throws, the
 * value is `[redacted]`.
 */
export type RedactValue = (value: unknown, place: { readonly tool: string; readonly pointer: string }) => unknown;

/** Length of a part above which it is not kept, because it is parsed on this thread. */
const PARSED_MAX = 64 * 1024;

/** A detail whose values went through the embedder's function. */
export function redactDetail(detail: DetailTexts, tool: string, redactValue: RedactValue): DetailTexts {
  const omitted: DetailPart[] = [...detail.omitted];
  const through = (name: DetailPart, text: string | null): string | null => {
    if (text === null || text === "") return text;
    if (text.length > PARSED_MAX) {
      omitted.push(name);
      return null;
    }
    return JSON.stringify(redactIn(parseForWriting(text), `/${name}`, tool, redactValue));
  };
  return {
    ...detail,
    arguments: through("arguments", detail.arguments),
    output: through("output", detail.output),
    error: through("error", detail.error),
    logs: through("logs", detail.logs) ?? "",
    omitted,
  };
}

function redactIn(value: unknown, pointer: string, tool: string, redactValue: RedactValue): unknown {
  const within = (name: string | number, part: unknown): unknown =>
    redactIn(part, pointer + pointerSegment(name), tool, redactValue);
  if (Array.isArray(value)) return value.map((item, at) => within(at, item));
  if (typeof value === "object" && value !== null && !isRawJSON(value)) {
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, within(name, member)]));
  }
  try {
    return redactValue(value, { tool, pointer }) ?? null;
  } catch {
    return REDACTED;
  }
}

const { isRawJSON } = JSON as typeof JSON & { readonly isRawJSON: (value: unknown) => boolean };
