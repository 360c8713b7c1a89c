import type { IncomingMessage } from "node:http";
import type { FastifyInstance } from "fastify";
import { sendRefusal } from "./answers.ts";

/** A host with an optional port, as RFC 9110 allows it in `Host`: no user, no path, no space. */
const HOST = /^(?:\[[\da-f:.]+\]|[\w.~!$&'()*+,;=%-]*)(?::\d*)?$/i;
/** The authority of a request target in absolute form. */
const AUTHORITY = /^https?:\/\/([^/?#]*)/i;

type Head = Pick<IncomingMessage, "headers" | "rawHeaders" | "httpVersion" | "url">;

/** Reason for refusing a head. */
interface Problem {
  readonly status: 400 | 415 | 501;
  readonly message: string;
}

/**
 * Refuses heads that Node's parser accepts and that a proxy could read in another way than this server: several hosts
 * or none (except in HTTP/1.0), several keys or content types, an invalid host, a fragment in the target, and a
 * transfer coding besides `chunked`. Also a body in a content coding, which the server does not decode. If the target
 * has a host of its own, that is the request's (RFC 9112, section 3.2.2).
 */
export function requireSoundHead(app: FastifyInstance): void {
  app.addHook("onRequest", ({ raw }, reply, next) => {
    const problem = problemOfHead(raw);
    if (problem !== null) {
      const { status, message } = problem;
      return void sendRefusal(reply.header("connection", "close"), "invalid_arguments", message, { status });
    }
    const authority = AUTHORITY.exec(raw.url ?? "")?.[1];
    if (authority !== undefined) raw.headers.host = authority;
    next();
  });
}

/** Whether a head is a common one: it has one host, and no other header that `requireSoundHead` checks. */
export function isPlainHead(head: Head): boolean {
  const { headers, url = "" } = head;
  const isPath = url.startsWith("/") && !url.includes("#");
  const isPlain = headers["transfer-encoding"] === undefined && headers["content-encoding"] === undefined;
  return isPath && isPlain && headers.host !== undefined && repeatedOf(head) === null && HOST.test(headers.host);
}

function problemOfHead(head: Head): Problem | null {
  const { headers, httpVersion, url = "" } = head;
  const repeated = repeatedOf(head);
  if (repeated !== null) return invalid(`the request has more than one ${repeated} header`);
  if (headers.host === undefined && httpVersion !== "1.0") return invalid("the request has no Host header");
  if (!HOST.test(headers.host ?? "")) return invalid("the Host header is no host");
  const authority = AUTHORITY.exec(url)?.[1];
  if (authority !== undefined && (authority === "" || !HOST.test(authority))) {
    return invalid("the request target has no valid host");
  }
  if (url.includes("#")) return invalid("the request target has a fragment");
  const coding = headers["transfer-encoding"];
  if (coding !== undefined && coding.trim().toLowerCase() !== "chunked")
    return { status: 501, message: "the only supported transfer coding is chunked" };
  const { "content-encoding": content = "identity", "content-length": length } = headers;
  const hasBody = coding !== undefined || length !== undefined;
  if (!hasBody || content.trim().toLowerCase() === "identity") return null;
  return { status: 415, message: "content-encoding is not supported; send the body as it is" };
}

function invalid(message: string): Problem {
  return { status: 400, message };
}

/**
 * Headers of which Node keeps only the first, and a proxy perhaps the last: they determine the caller and the parsing.
 */
const SINGLE: readonly string[] = ["Host", "Authorization", "Content-Type"];

const SINGLE_NAMES = SINGLE.map((name) => name.toLowerCase());

/** The first of these that a request has several times; else `null`. */
function repeatedOf({ rawHeaders }: Pick<IncomingMessage, "rawHeaders">): string | null {
  let found = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? "";
    for (let which = 0; which < SINGLE_NAMES.length; which++) {
      const single = SINGLE_NAMES[which];
      if (single?.length !== name.length || single !== name.toLowerCase()) continue;
      if ((found & (1 << which)) !== 0) return SINGLE[which] ?? null;
      found |= 1 << which;
    }
  }
  return null;
}
