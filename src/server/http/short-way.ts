import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import type { FastifyInstance } from "fastify";
import type { Caller } from "../access/caller.ts";
import { underSender } from "../trace-context.ts";
import { type Answer, answerToError, NO_HEADERS, pairsOf, writeAnswer } from "./answers.ts";
import { BATCH_TYPES, BATCH_URL, EXECUTE_URL, executeBatch, executeBody, TYPES } from "./calls.ts";
import { readShortBody } from "./json-body.ts";
import { chooseType } from "./media-type.ts";
import type { Surface } from "./surface.ts";
import { measure } from "./traffic.ts";
import type { Sender } from "./unread-budget.ts";

/** Bodies from this length count against the budget of bodies. */
const BODY_BYTES = 64 * 1024;
const JSON_TYPES: ReadonlySet<string> = new Set(["application/json", "application/json; charset=utf-8"]);

/** Facts of a request on the short way. */
interface Asked {
  readonly caller: Caller;
  readonly sender: Sender;
  readonly response: ServerResponse;
}

/** A route that has a short way. */
interface ShortRoute {
  readonly url: string;
  /** Media types of its answers; the short way gives the first one only. */
  readonly types: readonly string[];
  readonly answer: (body: unknown, asked: Asked) => Promise<Answer>;
}

/**
 * Answers most requests that run tools without the framework, which costs more than the rest of a short call: those
 * with a short body, from a permitted caller, and without unusual headers. Every other request goes through the
 * framework's hooks and routes. Both ways share their checks, and their answers are the same.
 */
export function addShortWay(app: FastifyInstance, surface: Surface): void {
  const way = new ShortWay(app, routesOf(app, surface));
  // oxlint-disable-next-line typescript/unbound-method -- the framework's own listener, which it finds by identity
  app.server.off("request", app.routing);
  app.server.on("request", (request, response) => {
    if (!way.take(request, response)) app.routing(request, response);
  });
}

function routesOf(app: FastifyInstance, { gate, batchCalls }: Surface): readonly ShortRoute[] {
  return [
    {
      url: EXECUTE_URL,
      types: TYPES,
      answer: (body, { caller, sender: { raw }, response }) => executeBody(gate, { body, caller, raw }, response),
    },
    {
      url: BATCH_URL,
      types: BATCH_TYPES,
      answer: (body, { caller, sender, response }) =>
        executeBatch(gate, { body, caller, raw: sender.raw }, response, {
          batchCalls,
          hold: (length) => app.unread?.hold(sender, length),
        }),
    },
  ];
}

class ShortWay {
  readonly #app: FastifyInstance;
  readonly #routes: ReadonlyMap<string, ShortRoute>;
  readonly #bodyBytes: number;
  /** Names and values of the headers of every response. */
  readonly #head: readonly string[];

  constructor(app: FastifyInstance, routes: readonly ShortRoute[]) {
    const { bodyLimit = 0 } = app.initialConfig;
    this.#app = app;
    this.#routes = new Map(routes.map((route) => [route.url, route]));
    this.#bodyBytes = bodyLimit;
    this.#head = pairsOf(app.access.headers);
  }

  /** Answers a request; `false` if the framework has to answer it, and nothing has been done yet. */
  take(request: IncomingMessage, response: ServerResponse): boolean {
    const route = this.#routes.get(request.url ?? "");
    if (route === undefined || request.method !== "POST") return false;
    const { access, drain, pipelining, traffic } = this.#app;
    if (!this.#isOrdinary(request.headers, route) || drain.isBeyond(response)) return false;
    const caller = access.callerOf(request, "execute");
    if (caller === null || !pipelining.mayBegin(response)) return false;
    if (traffic !== undefined) measure(traffic.route(route.url), "POST", response);
    const sender = { raw: request, caller, ip: request.socket.remoteAddress ?? "" };
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const [first = Buffer.alloc(0)] = chunks;
      const body = (chunks.length === 1 ? first : Buffer.concat(chunks)).toString("utf8");
      underSender(request.headers, () => this.#answer(body, route, { caller, sender, response }));
    });
    return true;
  }

  #isOrdinary(headers: IncomingHttpHeaders, { types }: ShortRoute): boolean {
    const { "content-type": type = "", "content-length": said = "", "transfer-encoding": coding, accept } = headers;
    const bytes = Number(said);
    if (!(bytes > 0 && bytes < BODY_BYTES && bytes <= this.#bodyBytes) || coding !== undefined) return false;
    return JSON_TYPES.has(type) && (accept === undefined || chooseType(accept, types) === types[0]);
  }

  #answer(text: string, { answer }: ShortRoute, asked: Asked): void {
    let body: unknown;
    try {
      body = readShortBody(text);
    } catch (error) {
      // As the framework does after a body that it could not read.
      const headers = { connection: "close" };
      return this.#send({ ...answerToError(error as Error, this.#bodyBytes), headers }, asked);
    }
    answer(body, asked).then(
      (answered) => this.#send(answered, asked),
      (error: unknown) => this.#send(answerToError(error as Error, this.#bodyBytes), asked),
    );
  }

  #send(answer: Answer, asked: Asked): void {
    if (asked.caller.key === null) return this.#write(answer, NO_HEADERS, asked);
    this.#app.access.rateLimitOf(asked.caller).then(
      (rateLimit) => this.#write(answer, rateLimit, asked),
      (error: unknown) => this.#write(answerToError(error as Error, this.#bodyBytes), NO_HEADERS, asked),
    );
  }

  #write(answer: Answer, rateLimit: Answer["headers"], { sender, response }: Asked): void {
    const { unread, unreadMs } = this.#app;
    writeAnswer(response, { head: this.#head, rateLimit, unread, unreadMs, sender }, answer);
  }
}
