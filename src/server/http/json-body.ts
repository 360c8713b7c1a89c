import { parseForWriting } from "../../kernel/base/exact-json.ts";
import { randomUUID } from "node:crypto";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { HostWorkQueue, type WorkPayer } from "../../kernel/base/host-work-queue.ts";
import { describeExcess, isObject } from "../../kernel/base/json.ts";
import { type CutValue, type Cutting, JsonScanner, type JsonVerdict } from "../../kernel/base/json-scanner.ts";
import { parseWhenRead, type UnreadJson } from "../../kernel/base/unread-json.ts";
import { ownerOf } from "./unread-budget.ts";

/** Length of a body up to which it is parsed as a whole, in UTF-16 units: at most some milliseconds. */
const WHOLE_MAX = 64 * 1024;
/** Maximum length of a longer body without the arguments that are cut out of it. */
const REST_MAX = 1024 * 1024;
/** Maximum number of values in that: a member costs up to a microsecond of this thread. */
const REST_VALUES_MAX = 32 * 1024;
/** Length of a piece of work: less than a millisecond of it. */
const PIECE = 64 * 1024;
/** Blanks that would end a line of the protocol between host and worker. No string of JSON contains them. */
const BREAKS = /[\t\n\r]+/g;
const BYTE_ORDER_MARK = "\uFEFF";

declare module "fastify" {
  interface FastifyContextConfig {
    /** Arguments that stay text in a long body of the route. */
    readonly cutting?: Cutting;
  }
}

/** A body that was parsed before it came here. */
export interface ParsedBody {
  readonly value: unknown;
}

/**
 * Reads JSON bodies. The arguments of calls in a long one are cut out of its text and never parsed here: that the body
 * is JSON is proved in pieces, and clients take turns. `parsedOf`: the body of a request that is parsed already.
 */
export function addJsonBodies(
  app: FastifyInstance,
  parsedOf: (request: FastifyRequest) => ParsedBody | null = () => null,
): void {
  const work = new HostWorkQueue();
  app.addContentTypeParser<string>("application/json", { parseAs: "string" }, (request, body, done) => {
    const parsed = parsedOf(request);
    if (parsed !== null) return done(null, parsed.value);
    const { cutting = "none" } = body.length > WHOLE_MAX ? request.routeOptions.config : {};
    if (cutting !== "none") {
      const payer = { tenant: ownerOf(request), spendMain: () => undefined };
      return void readLongBody(body, cutting, work, payer).then(
        (value) => done(null, value),
        (error: unknown) => done(error as Error),
      );
    }
    let value: unknown;
    try {
      value = readShortBody(body);
    } catch (error) {
      return done(error as Error);
    }
    done(null, value);
  });
}

/**
 * The value of a body. Throws the error of an invalid one. Keys such as `__proto__` are ordinary data: `JSON.parse`
 * makes them own properties, this code does not copy by assignment, and they enter the isolate as JSON text.
 */
export function readShortBody(body: string): unknown {
  // A body of brackets only would block this thread for seconds and take thirty times its size in memory.
  const excess = describeExcess(body);
  if (excess !== null) throw excessive(excess);
  try {
    return parseForWriting(body.startsWith(BYTE_ORDER_MARK) ? body.slice(1) : body);
  } catch {
    throw notJson();
  }
}

/** The value of a body without the arguments of its calls, which stay text. Rejects with the error of an invalid one. */
export function readLongBody(body: string, cutting: Cutting, work: HostWorkQueue, payer: WorkPayer): Promise<unknown> {
  return new LongBody(body, cutting, work, payer).read();
}

/** A body out of which arguments are cut. */
class LongBody {
  readonly #text: string;
  readonly #cutting: Cutting;
  readonly #work: HostWorkQueue;
  readonly #payer: WorkPayer;
  /** Replaces the arguments in the parsed text. It is random, so no body contains it. */
  readonly #mark = randomUUID();

  constructor(text: string, cutting: Cutting, work: HostWorkQueue, payer: WorkPayer) {
    this.#text = text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text;
    this.#cutting = cutting;
    this.#work = work;
    this.#payer = payer;
  }

  async read(): Promise<unknown> {
    const scanner = new JsonScanner(this.#text, this.#cutting);
    let verdict: JsonVerdict | null = null;
    while (verdict === null) verdict = await this.#work.run(this.#payer, () => scanner.scan(PIECE));
    if (verdict.kind === "excess") throw excessive(verdict.excess);
    if (verdict.kind === "invalid") throw notJson();
    const { cuts } = scanner;
    const rest = this.#restOf(cuts);
    if (rest.length > REST_MAX || describeExcess(rest, REST_VALUES_MAX) !== null)
      throw refusal("", "the body has too much besides arguments");
    const value = parseForWriting(rest);
    for (const call of this.#callsIn(value)) await this.#putBack(call, cuts);
    return value;
  }

  /** The text with a mark, and a cut's number, in place of each cut. */
  #restOf(cuts: readonly CutValue[]): string {
    let rest = "";
    let from = 0;
    for (const [index, { start, end }] of cuts.entries()) {
      rest += `${this.#text.slice(from, start)}"${this.#mark}${index}"`;
      from = end;
    }
    return rest + this.#text.slice(from);
  }

  #callsIn(value: unknown): readonly unknown[] {
    if (this.#cutting === "call" || !isObject(value)) return [value];
    return Array.isArray(value["calls"]) ? (value["calls"] as readonly unknown[]) : [];
  }

  /** Gives a call its arguments as text. Of several members of that name, the last one counts, as in `JSON.parse`. */
  async #putBack(call: unknown, cuts: readonly CutValue[]): Promise<void> {
    if (!isObject(call)) return;
    const { arguments: mark } = call;
    if (typeof mark !== "string" || !mark.startsWith(this.#mark)) return;
    const cut = cuts[Number(mark.slice(this.#mark.length))];
    if (cut === undefined) return;
    const { start, end, blanks } = cut;
    if (this.#text[start] === "{") {
      parseWhenRead(call, "arguments", await this.#withoutBreaks(start, end, blanks), parseForWriting);
    }
    // The engine refuses any other value except `null`.
    else Object.assign(call, { arguments: this.#text.startsWith("null", start) ? null : [] });
  }

  /** A cut without breaks, and the number of blanks left in it. */
  async #withoutBreaks(start: number, end: number, blanks: number): Promise<UnreadJson> {
    if (blanks === 0) return { json: this.#text.slice(start, end), blanks };
    const pieces: string[] = [];
    for (let at = start; at < end; at += PIECE) {
      const piece = this.#text.slice(at, Math.min(end, at + PIECE));
      pieces.push(await this.#work.run(this.#payer, () => piece.replaceAll(BREAKS, "")));
    }
    const json = pieces.join("");
    return { json, blanks: blanks - (end - start - json.length) };
  }
}

function excessive(excess: string): Error {
  return refusal("", `the body is ${excess}`);
}

function notJson(): Error {
  return refusal("FST_ERR_CTP_INVALID_JSON_BODY", "the body is not JSON");
}

function refusal(code: string, message: string): Error {
  return Object.assign(new Error(message), { statusCode: 400, code });
}
