import type { IncomingMessage, ServerResponse } from "node:http";
import type { FastifyInstance } from "fastify";
import type { Caller } from "../access/caller.ts";
import type { ScopedEngine } from "../access/scoped-engine.ts";
import { underSender } from "../trace-context.ts";
import { type Answer, answerOf, answerToError, NO_HEADERS, pairsOf, writeAnswer } from "./answers.ts";
import { EXECUTE_URL, executeBody, TYPES } from "./calls.ts";
import { readShortBody } from "./json-body.ts";
import { chooseType } from "./media-type.ts";
import { measure } from "./traffic.ts";

/** Bodies from this length count against the budget of bodies. */
const BODY_BYTES = 64 * 1024;
const JSON_TYPES: ReadonlySet<string> = new Set(["application/json", "application/json; charset=utf-8"]);

/**
 * Answers most requests to `/v1/execute` without the framework, which costs more than the rest of a short call: those
 * with a short body, from a caller who may send it, and with nothing unusual in the head. Every other request goes
 * through the framework's hooks and routes. Both ways share their checks, and their answers are the same.
 */
export function addShortWay(app: FastifyInstance, gate: ScopedEngine): void {
  const way = new ShortWay(app, gate);
  // oxlint-disable-next-line typescript/unbound-method -- the framework's own listener, which it finds by identity
  app.server.off("request", app.routing);
  app.server.on("request", (request, response) => {
    if (!way.take(request, response)) app.routing(request, response);
  });
}

class ShortWay {
  readonly #app: FastifyInstance;
  readonly #gate: ScopedEngine;
  readonly #bodyBytes: number;
  /** Names and values of the headers of every response. */
  readonly #head: readonly string[];

  constructor(app: FastifyInstance, gate: ScopedEngine) {
    const { bodyLimit = 0 } = app.initialConfig;
    this.#app = app;
    this.#gate = gate;
    this.#bodyBytes = bodyLimit;
    this.#head = pairsOf(app.access.headers);
  }

  /** Answers a request; `false` if it is for the framework, and nothing has been done for it. */
  take(request: IncomingMessage, response: ServerResponse): boolean {
    if (request.url !== EXECUTE_URL || request.method !== "POST") return false;
    const { access, drain, pipelining, traffic } = this.#app;
    if (!this.#isOrdinary(request) || drain.isBeyond(response)) return false;
    const caller = access.callerOf(request, "execute");
    if (caller === null || !pipelining.mayBegin(response)) return false;
    if (traffic !== undefined) measure(traffic.route(EXECUTE_URL), "POST", response);
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const [first = Buffer.alloc(0)] = chunks;
      const body = (chunks.length === 1 ? first : Buffer.concat(chunks)).toString("utf8");
      underSender(request.headers, () => void this.#answer(body, caller, request, response));
    });
    return true;
  }

  #isOrdinary({ headers }: IncomingMessage): boolean {
    const { "content-type": type = "", "content-length": said = "", "transfer-encoding": coding, accept } = headers;
    const bytes = Number(said);
    if (!(bytes > 0 && bytes < BODY_BYTES && bytes <= this.#bodyBytes) || coding !== undefined) return false;
    return JSON_TYPES.has(type) && (accept === undefined || chooseType(accept, TYPES) === TYPES[0]);
  }

  async #answer(text: string, caller: Caller, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { access, unread, unreadMs } = this.#app;
    let answer = await this.#run(text, caller, request, response);
    let rateLimit: Answer["headers"] = NO_HEADERS;
    try {
      if (caller.key !== null) rateLimit = await access.rateLimitOf(caller);
    } catch (error) {
      answer = answerToError(error as Error, this.#bodyBytes);
    }
    const sender = { raw: request, caller, ip: request.socket.remoteAddress ?? "" };
    writeAnswer(response, { head: this.#head, rateLimit, unread, unreadMs, sender }, answer);
  }

  async #run(text: string, caller: Caller, request: IncomingMessage, response: ServerResponse): Promise<Answer> {
    let body: unknown;
    try {
      body = readShortBody(text);
    } catch (error) {
      // As the framework does after a body that it could not read.
      const headers = { connection: "close" };
      return { ...answerToError(error as Error, this.#bodyBytes), headers };
    }
    try {
      return answerOf(await executeBody(this.#gate, { body, caller, raw: request }, response));
    } catch (error) {
      return answerToError(error as Error, this.#bodyBytes);
    }
  }
}
