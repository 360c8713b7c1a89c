import { GloveboxError } from "../../base/errors.ts";
import { isObject, memberOf } from "../../base/json.ts";
import { writeAny } from "../../base/json-writer.ts";
import type { CallWait } from "../../store/calls/durable/durable-call.ts";
import { TOOL_CALLS } from "../../broker/capabilities/program-tools.ts";

/** Maximum length of an approval's data, a signal's payload, and an effect's answer, in characters of JSON. */
const DATA_MAX = 64 * 1024;
const STATUS = { ok: 200, min: 200, max: 599 } as const;
const HEADER_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** JSON of the answer of an effect, in the form of its capability. Throws a `RangeError` or a `GloveboxError`. */
export function answerText(wait: CallWait & { readonly kind: "approval" | "outcome" }, answer: unknown): string {
  const text = dataText("answer", answer);
  if (wait.kind !== "outcome") return text;
  const { asked, arguments: args } = wait;
  if (TOOL_CALLS.includes(asked)) return `{"ok":true,"output":${text}}`;
  // An operation on files answers with a value or an error of the system: a person gives the value.
  if (asked.startsWith("fs.")) return `{"value":${text}}`;
  switch (asked) {
    case "fetch.request":
      return JSON.stringify(responseOf(answer, urlOf(args)));
    // A call of a connector's tool is itself in doubt: its answer is the output, too.
    case "connector.request":
      return JSON.stringify({ status: STATUS.ok, headers: [["content-type", "application/json"]], body: text });
    case "connector.call":
      return JSON.stringify(`{"structuredContent":${text}}`);
    // The same for a binary, whose output is the text of a file.
    case "native.run":
      return JSON.stringify({ exitCode: 0, ended: null, stdout: "", stderr: "", output: text });
    default:
      return text;
  }
}

/** JSON of a value for a call. Throws a `RangeError`. */
export function dataText(name: string, value: unknown): string {
  let text: string;
  try {
    text = writeAny(value);
  } catch (error) {
    if (error instanceof RangeError) throw error;
    throw new RangeError(`${name} cannot be written as JSON`, { cause: error });
  }
  if (text.length <= DATA_MAX) return text;
  throw new RangeError(`${name} has at most ${DATA_MAX} characters of JSON`);
}

/** The requested URL; empty if the arguments were too long to be kept. */
function urlOf(args: string): string {
  try {
    const url = memberOf(JSON.parse(args), "url");
    return typeof url === "string" ? url : "";
  } catch {
    return "";
  }
}

/** The response that a person describes, in the form in which the host sends one to an isolate. */
function responseOf(answer: unknown, asked: string): object {
  if (!isObject(answer)) throw wrong(`it is an object such as {"status":201,"body":"text"}`);
  const { url = asked, status = STATUS.ok, statusText = "", headers = [], redirected = false, body = null } = answer;
  if (!Number.isInteger(status) || Number(status) < STATUS.min || Number(status) > STATUS.max)
    throw wrong(`its status is an integer from ${STATUS.min} to ${STATUS.max}`);
  if (typeof url !== "string") throw wrong("its url is a text");
  if (typeof statusText !== "string" || !HEADER_VALUE.test(statusText)) throw wrong("its statusText is a text");
  if (typeof redirected !== "boolean") throw wrong("its redirected is true or false");
  if (body !== null && typeof body !== "string") throw wrong("its body is a text or null: write JSON as a text");
  const whole = body === null ? null : { part: { text: body }, more: false };
  return { url, status, statusText, headers: headersOf(headers), redirected, opaque: false, body: whole };
}

function headersOf(given: unknown): readonly (readonly [string, string])[] {
  const entries: readonly unknown[] = isObject(given) ? Object.entries(given) : Array.isArray(given) ? given : [null];
  return entries.map((entry) => {
    const [name, value, ...more]: readonly unknown[] = Array.isArray(entry) ? entry : [];
    const isHeader = typeof name === "string" && typeof value === "string" && more.length === 0;
    if (isHeader && HEADER_NAME.test(name) && HEADER_VALUE.test(value)) return [name.toLowerCase(), value];
    throw wrong("its headers are an object of texts, or a list of pairs [name, value]");
  });
}

function wrong(what: string): GloveboxError {
  return new GloveboxError("invalid_arguments", `the answer of fetch.request cannot be heard by the call: ${what}`);
}
