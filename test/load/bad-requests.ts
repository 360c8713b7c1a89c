import type { Dice } from "./dice.ts";

/** Parts that a hostile or broken client writes to a connection before it ends its side. */
export interface BadRequest {
  readonly kind: string;
  readonly parts: readonly Buffer[];
}

/** Every good answer of the server to a bad request is one of these: nothing succeeds, and nothing breaks. */
export const REFUSED = /^4\d\d$/;

const CRLF = "\r\n";
const JSON_TYPE = `content-type: application/json${CRLF}`;
const CALL = '{"name":"add","arguments":{"a":1,"b":2}}';

type Draw = (dice: Dice) => string | Buffer | readonly (string | Buffer)[];

function bytes(dice: Dice, length: number): Buffer {
  return Buffer.from(Array.from({ length }, () => dice.between(0, 255)));
}

function head(line: string, headers: string): string {
  return `${line} HTTP/1.1${CRLF}host: 127.0.0.1${CRLF}${headers}${CRLF}`;
}

function post(body: string | Buffer, headers = JSON_TYPE, url = "/v1/execute"): readonly (string | Buffer)[] {
  return [head(`POST ${url}`, `${headers}content-length: ${Buffer.byteLength(body)}${CRLF}`), body];
}

/** JSON with one piece of it cut out, or another put in. */
function spoil(dice: Dice, json: string): string {
  const at = dice.between(0, json.length - 1);
  const piece = dice.pick(["", "{", "}", '"', ",", "\\", "\u0000", "]", "nul", "\ud800"]);
  return `${json.slice(0, at)}${piece}${json.slice(at + dice.between(1, 3))}`;
}

const ODD_VALUES = ["null", "1", '"x"', "[]", "true", "1e999", "{}", '{"then":1}', '{"__proto__":1}', "[[[]]]", '""'];
const ODD_METHODS = ["GET", "PUT", "DELETE", "PATCH", "TRACE", "OPTIONS", "PROPFIND", "M-SEARCH"];
const ODD_URLS = [
  "/%",
  "/..%2f..%2fetc/passwd",
  "/v1/tools/%E0%A4%A",
  "/v1/toolz",
  "/v1/tools/?a[]=1",
  "/v1/execute/../x",
];
const ODD_LINES = ["GET", "GET /", "get / HTTP/1.1", "PRI * HTTP/2.0", "GET / HTTP/9.9", "\u0000", "GET  /  HTTP/1.1"];
const ODD_LENGTHS = ["-1", "1e3", "0x10", "99999999999999999999", "1, 2", "", "١"];
const ODD_CHUNKS = ["zz\r\n", "-1\r\n", "5\r\nab", "ffffffffffffffff\r\nx", "1;a=\u0000\r\nx\r\n", "3\nabc\n"];

const DRAWS: Readonly<Record<string, Draw>> = {
  noise: (dice) => bytes(dice, dice.between(1, 2_000)),
  "noise as a body": (dice) => post(bytes(dice, dice.between(1, 2_000))),
  "a malformed first line": (dice) => `${dice.pick(ODD_LINES)}${CRLF}${CRLF}`,
  "a huge header": (dice) => head("GET /healthz", `x: ${"h".repeat(dice.between(20_000, 80_000))}${CRLF}`),
  "many headers": (dice) =>
    head("GET /nothing", Array.from({ length: dice.between(2_000, 4_000) }, (_, at) => `h${at}: 1${CRLF}`).join("")),
  "a malformed header": (dice) =>
    head("GET /nothing", `${dice.pick(["no colon", "a b: c", ": x", "\u0000: x"])}${CRLF}`),
  "a long address": (dice) => head(`GET /${"a".repeat(dice.between(1_000, 30_000))}`, ""),
  "an odd address": (dice) => head(`GET ${dice.pick(ODD_URLS)}`, ""),
  "an unknown route": (dice) => head(`${dice.pick(["GET", "POST", "DELETE"])} /${dice.between(0, 1e9)}`, ""),
  "another method": (dice) => head(`${dice.pick(ODD_METHODS)} /v1/execute`, ""),
  "half a body": (dice) => [
    head("POST /v1/execute", `${JSON_TYPE}content-length: 1000${CRLF}`),
    CALL.slice(0, dice.between(0, 30)),
  ],
  "half a head": (dice) => head("POST /v1/execute", JSON_TYPE).slice(0, dice.between(1, 60)),
  "a malformed length": (dice) =>
    head("POST /v1/execute", `${JSON_TYPE}content-length: ${dice.pick(ODD_LENGTHS)}${CRLF}`) + CALL,
  "a length and chunks": () =>
    head("POST /v1/execute", `${JSON_TYPE}content-length: 5${CRLF}transfer-encoding: chunked${CRLF}`) +
    `0${CRLF}${CRLF}`,
  "malformed chunks": (dice) =>
    head("POST /v1/execute", `${JSON_TYPE}transfer-encoding: chunked${CRLF}`) + dice.pick(ODD_CHUNKS),
  "an encoding that nobody knows": (dice) =>
    post(CALL, `${JSON_TYPE}content-encoding: ${dice.pick(["gzip", "br", "x"])}${CRLF}transfer-encoding: x${CRLF}`),
  "another type": (dice) =>
    post(CALL, `content-type: ${dice.pick(["text/plain", "application/xml", "x", "multipart/form-data", ";"])}${CRLF}`),
  "no type": () => post(CALL, ""),
  "spoilt JSON": (dice) => post(spoil(dice, CALL).replace('"add"', '"nobody"')),
  "no call": (dice) => post(dice.pick(ODD_VALUES)),
  "an odd name": (dice) => post(`{"name":${dice.pick(ODD_VALUES)},"arguments":{}}`),
  "odd arguments": (dice) => post(`{"name":"add","arguments":${dice.pick(ODD_VALUES)}}`),
  "odd options": (dice) =>
    post(
      `{"name":"add","arguments":{"a":1,"b":2},"options":{"${dice.pick(["tenant", "limits", "nothing", "retries"])}":[]}}`,
    ),
  "an odd key": (dice) =>
    post(CALL, `${JSON_TYPE}idempotency-key: ${dice.pick(["", '"', "a b", '"\\"', "k".repeat(300)])}${CRLF}`),
  "no calls": (dice) => post(dice.pick(ODD_VALUES), JSON_TYPE, "/v1/execute/batch"),
  "deep JSON": (dice) => post("[".repeat(dice.between(2_000, 50_000))),
  "a type that nobody has": (dice) =>
    post(CALL, `${JSON_TYPE}accept: ${dice.pick(["image/png", "text/html;q=x", ",,,"])}${CRLF}`.replace(",,,", "a/b")),
  "several at once": (dice) => [...post("1"), ...post("[]"), head(`GET /${dice.between(0, 9)}`, ""), bytes(dice, 20)],
};
const KINDS = Object.keys(DRAWS);

/** Draws a bad request: the same for the same die. */
export function drawBadRequest(dice: Dice): BadRequest {
  const kind = dice.pick(KINDS);
  const drawn = DRAWS[kind]?.(dice) ?? "";
  const whole = Buffer.concat([drawn].flat().map((part) => (typeof part === "string" ? Buffer.from(part) : part)));
  // Some come in two pieces, wherever these may meet.
  const cut = dice.between(0, 3) === 0 ? dice.between(0, whole.length) : whole.length;
  return { kind, parts: [whole.subarray(0, cut), whole.subarray(cut)].filter(({ length }) => length > 0) };
}
