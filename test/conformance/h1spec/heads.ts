/** A request, and what RFC 9112 asks of a server that gets it. Where it leaves a choice, there are several statuses. */
export interface HeadCase {
  readonly what: string;
  /** Section of RFC 9112. */
  readonly section: string;
  readonly bytes: string;
  /** Statuses of the first response; empty where the connection may only be closed. */
  readonly statuses: readonly number[];
}

const HOST = "Host: localhost\r\n";
/** What must never be answered, where it stands in the body of a request or behind one that is refused. */
export const SMUGGLED = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
const BODY = '{"name":"echo","arguments":{}}';
const CHUNKS = `1e\r\n${BODY}\r\n0\r\n\r\n`;
const REFUSED = [400];
const ACCEPTED = [200];

/** A call with some fields and a body of its own. */
function post(fields: string, body: string): string {
  return `POST /v1/execute HTTP/1.1\r\n${HOST}Content-Type: application/json\r\n${fields}\r\n${body}`;
}

function chunked(body: string): string {
  return post("Transfer-Encoding: chunked\r\n", body);
}

/** A request for the list of tools. */
function get(fields: string, line = "GET /v1/tools HTTP/1.1"): string {
  return `${line}\r\n${fields}\r\n`;
}

function coding(value: string): string {
  return post(`Transfer-Encoding:${value}\r\n`, CHUNKS + SMUGGLED);
}

function length(value: string): string {
  return post(`Content-Length:${value}\r\n`, BODY + SMUGGLED);
}

function inChunks(chunks: string): string {
  return chunked(chunks + SMUGGLED);
}

type Row = readonly [what: string, section: string, bytes: string, statuses: readonly number[]];

/** Where a body ends: the families of request smuggling. */
const FRAMING: readonly Row[] = [
  [
    "CL.TE: a length that ends within the chunks",
    "6.3",
    post("Content-Length: 6\r\nTransfer-Encoding: chunked\r\n", `0\r\n\r\nG`),
    REFUSED,
  ],
  [
    "TE.CL: a chunk longer than the length",
    "6.3",
    post("Transfer-Encoding: chunked\r\nContent-Length: 4\r\n", `2b\r\n${SMUGGLED}\r\n0\r\n\r\n`),
    REFUSED,
  ],
  [
    "two codings in two fields",
    "6.3",
    post("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", CHUNKS + SMUGGLED),
    REFUSED,
  ],
  ["chunked twice", "7.1", coding(" chunked, chunked"), REFUSED],
  ["chunked that is not last", "6.3", coding(" chunked, identity"), REFUSED],
  ["a coding that is not known before chunked", "6.1", coding(" gzip, chunked"), [501]],
  ["a coding whose name ends in chunked", "6.1", coding(" xchunked"), [400, 501]],
  ["a coding with a vertical tab", "6.1", coding(" chunked\x0b"), REFUSED],
  ["a coding in quotes", "6.1", coding(' "chunked"'), [400, 501]],
  ["a coding on a line of its own", "5.2", coding("\r\n chunked"), REFUSED],
  ["no coding", "6.1", coding(""), [400, 501]],
  [
    "a space before the colon of the coding",
    "5.1",
    post("Transfer-Encoding : chunked\r\n", CHUNKS + SMUGGLED),
    REFUSED,
  ],
  [
    "a coding behind a line feed in a field",
    "2.2",
    post("X: y\nTransfer-Encoding: chunked\r\n", CHUNKS + SMUGGLED),
    REFUSED,
  ],
  ["a coding in HTTP/1.0", "6.1", coding(" chunked").replace("HTTP/1.1", "HTTP/1.0"), []],
  ["two equal lengths", "6.3", post("Content-Length: 30\r\nContent-Length: 30\r\n", BODY + SMUGGLED), REFUSED],
  ["two lengths", "6.3", post("Content-Length: 0\r\nContent-Length: 30\r\n", BODY + SMUGGLED), REFUSED],
  ["a list of equal lengths", "6.3", length(" 30, 30"), REFUSED],
  ["a length with a sign", "6.2", length(" +30"), REFUSED],
  ["a negative length", "6.2", length(" -30"), REFUSED],
  ["a length with a space", "6.2", length(" 3 0"), REFUSED],
  ["a hexadecimal length", "6.2", length(" 0x1e"), REFUSED],
  ["a length beyond any number", "6.2", length(" 99999999999999999999"), REFUSED],
  ["an empty length", "6.2", length(""), REFUSED],
];

const CHUNKED: readonly Row[] = [
  ["chunks", "7.1", chunked(CHUNKS), ACCEPTED],
  ["a coding after a tab, in capitals", "5", post("transfer-ENCODING:\tCHUNKED\r\n", CHUNKS), ACCEPTED],
  ["chunks with extensions", "7.1.1", chunked(`1e;a=b;c="d"\r\n${BODY}\r\n0\r\n\r\n`), ACCEPTED],
  ["chunks with a trailer", "7.1.2", chunked(`1e\r\n${BODY}\r\n0\r\nX: y\r\n\r\n`), ACCEPTED],
  ["a length in a trailer", "6.5.1", inChunks(`1e\r\n${BODY}\r\n0\r\nContent-Length: 5\r\n\r\n`), REFUSED],
  [
    "a trailer that is too large",
    "7.1.2",
    inChunks(`1e\r\n${BODY}\r\n0\r\nX: ${"y".repeat(20_000)}\r\n\r\n`),
    [400, 431],
  ],
  [
    "an extension that is too large",
    "7.1.1",
    inChunks(`1e;${"y".repeat(20_000)}\r\n${BODY}\r\n0\r\n\r\n`),
    [400, 413, 431],
  ],
  ["an extension that ends in a line feed", "7.1.1", inChunks(`1e;a\n${BODY}\r\n0\r\n\r\n`), REFUSED],
  ["a chunk size with a prefix", "7.1", inChunks(`0x1e\r\n${BODY}\r\n0\r\n\r\n`), REFUSED],
  ["a negative chunk size", "7.1", inChunks(`-1\r\n${BODY}\r\n0\r\n\r\n`), REFUSED],
  ["a chunk size with a space", "7.1", inChunks(`1e \r\n${BODY}\r\n0\r\n\r\n`), REFUSED],
  ["a chunk size beyond any number", "7.1", inChunks(`1000000000000001e\r\n${BODY}\r\n0\r\n\r\n`), REFUSED],
  ["a chunk size that ends in a line feed", "7.1", inChunks(`1e\n${BODY}\r\n0\r\n\r\n`), REFUSED],
  ["no chunk size", "7.1", inChunks(`\r\n${BODY}\r\n0\r\n\r\n`), REFUSED],
  ["a chunk that no line ends", "7.1", inChunks(`1e\r\n${BODY}0\r\n\r\n`), REFUSED],
  ["a chunk that other characters end", "7.1", inChunks(`1e\r\n${BODY}xx0\r\n\r\n`), REFUSED],
];

const LINES: readonly Row[] = [
  ["lines that end in line feeds", "2.2", get(HOST).replaceAll("\r\n", "\n"), [200, 400]],
  ["a line feed within a field", "2.2", get(`Host: localhost\nX: y\r\n`), [200, 400]],
  ["a carriage return within a field", "2.2", get(`Host: localhost\rX: y\r\n`), REFUSED],
  ["an empty line before the request", "2.2", `\r\n${get(HOST)}`, ACCEPTED],
  ["white space before the first field", "2.2", get(` X: y\r\n${HOST}`), REFUSED],
  ["a field on two lines", "5.2", get(`${HOST}X: a\r\n b\r\n`), [200, 400]],
  ["a space before a colon", "5.1", get(`${HOST}X : y\r\n`), REFUSED],
  ["a field without a colon", "5", get(`${HOST}X\r\n`), REFUSED],
  ["NUL in a field's value", "5", get(`${HOST}X: a\0b\r\n`), REFUSED],
  ["NUL in a field's name", "5", get(`${HOST}X\0: y\r\n`), REFUSED],
  ["a head that is too large", "3", get(`${HOST}X: ${"y".repeat(20_000)}\r\n`), [431]],
  ["a tab in the request line", "3", get(HOST, "GET\t/v1/tools HTTP/1.1"), REFUSED],
  ["a space after the version", "3", get(HOST, "GET /v1/tools HTTP/1.1 "), [200, 400]],
  ["a version in small letters", "2.3", get(HOST, "GET /v1/tools http/1.1"), REFUSED],
  ["a version that there is not", "2.3", get(HOST, "GET /v1/tools HTTP/1.2"), [200, 400, 505]],
  ["the preface of HTTP/2", "2.3", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", [400, 505]],
];

const TARGETS: readonly Row[] = [
  ["a target without a slash", "3.2", get(HOST, "GET v1/tools HTTP/1.1"), REFUSED],
  ["a target with a fragment", "3.2", get(HOST, "GET /v1/tools#x HTTP/1.1"), REFUSED],
  ["an absolute target of the same host", "3.2.2", get(HOST, "GET http://localhost/v1/tools HTTP/1.1"), ACCEPTED],
  ["an absolute target of another host", "3.2.2", get(HOST, "GET http://other.example/v1/tools HTTP/1.1"), [403, 421]],
  [
    "an absolute target of this host, with another in Host",
    "3.2.2",
    get("Host: other.example\r\n", "GET http://localhost/v1/tools HTTP/1.1"),
    ACCEPTED,
  ],
  ["an absolute target with a user", "3.2.2", get(HOST, "GET http://a@localhost/v1/tools HTTP/1.1"), REFUSED],
  ["an absolute target without Host", "3.2", get("", "GET http://localhost/v1/tools HTTP/1.1"), REFUSED],
  ["no Host", "3.2", get(""), REFUSED],
  ["two Hosts", "3.2", get(`${HOST}Host: other.example\r\n`), REFUSED],
  ["two equal Hosts", "3.2", get(HOST + HOST), REFUSED],
  ["a list of hosts", "3.2", get("Host: localhost, other.example\r\n"), REFUSED],
  ["a Host with a user", "3.2", get("Host: a@localhost\r\n"), REFUSED],
  ["a Host with a path", "3.2", get("Host: localhost/x\r\n"), REFUSED],
  ["a Host whose port is no number", "3.2", get("Host: localhost:x\r\n"), REFUSED],
  ["a tunnel", "3.2.3", get(HOST, "CONNECT localhost:80 HTTP/1.1"), []],
  ["all methods of the server", "3.2.4", get(HOST, "OPTIONS * HTTP/1.1"), [200, 204, 405]],
  [
    "an upgrade to HTTP/2, which the server does not speak",
    "7.8",
    get(`${HOST}Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n`),
    ACCEPTED,
  ],
];

export const HEADS: readonly HeadCase[] = [...FRAMING, ...CHUNKED, ...LINES, ...TARGETS].map(
  ([what, section, bytes, statuses]) => ({ what, section, bytes, statuses }),
);
