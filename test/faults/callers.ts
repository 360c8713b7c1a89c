/** Callers of a service: some ten calls a second, each asked again until it has an answer. */
import { setTimeout as delay } from "node:timers/promises";

const EVERY_MS = 100;
/** Callers that wait for an answer at once: more do not come. */
const AT_ONCE = 30;
const ASK_MS = 45_000;
const AGAIN_MS = 500;
/** How long after the end callers still wait for their answers. */
const END_MS = 90_000;
/** One in so many calls has an effect, and an idempotency key. */
const KEYED_EVERY = 2;

export interface Answer {
  readonly code: string;
  readonly isRetryable: boolean;
}

/** What became of all calls. */
export interface Tally {
  /** Answers by code, of all that were asked; `no connection` where nobody took the request. */
  readonly answers: ReadonlyMap<string, number>;
  /** Keys whose call ended well: their effect has happened. */
  readonly done: readonly string[];
  /** Calls without any answer. */
  readonly unanswered: readonly string[];
}

export interface Ask {
  readonly name: string;
  readonly key: string | null;
  readonly args: object;
}

/** Asks once. A request that nobody answers has no code of Glovebox. */
export async function ask(url: string, { name, key, args }: Ask): Promise<Answer> {
  try {
    const response = await fetch(`${url}/v1/execute`, {
      method: "POST",
      headers: { "content-type": "application/json", ...(key === null ? {} : { "idempotency-key": key }) },
      body: JSON.stringify({ name, arguments: args }),
      signal: AbortSignal.timeout(ASK_MS),
    });
    const body: unknown = await response.json();
    return answerOf(body) ?? { code: `status ${response.status}`, isRetryable: response.status >= 500 };
  } catch (error) {
    const isLate = error instanceof DOMException && error.name === "TimeoutError";
    return { code: isLate ? "no answer" : "no connection", isRetryable: true };
  }
}

function answerOf(body: unknown): Answer | null {
  if (typeof body !== "object" || body === null || !("success" in body)) return null;
  if (body.success === true) return { code: "ok", isRetryable: false };
  if (!("error" in body) || typeof body.error !== "object" || body.error === null) return null;
  const { error } = body;
  const code = "code" in error && typeof error.code === "string" ? error.code : "no code";
  return { code, isRetryable: "retryable" in error && error.retryable === true };
}

export class Callers {
  readonly #urlOf: () => string;
  readonly #answers = new Map<string, number>();
  readonly #done: string[] = [];
  readonly #unanswered: string[] = [];
  readonly #asking = new Set<Promise<void>>();
  readonly #timer: NodeJS.Timeout;
  #endMs = Number.POSITIVE_INFINITY;
  #made = 0;

  /** They ask whom `urlOf` names at the time: a service may come back elsewhere. */
  constructor(urlOf: () => string) {
    this.#urlOf = urlOf;
    this.#timer = setInterval(() => this.#begin(), EVERY_MS);
  }

  get answers(): ReadonlyMap<string, number> {
    return this.#answers;
  }

  /** Makes one more call, which counts as all others do. */
  async call(asked: Ask): Promise<void> {
    await this.#untilAnswered(asked);
  }

  /** Begins no more calls, and waits until all have their answers, or have none in good time. */
  async end(): Promise<Tally> {
    clearInterval(this.#timer);
    this.#endMs = performance.now() + END_MS;
    await Promise.all(this.#asking);
    return { answers: this.#answers, done: this.#done, unanswered: this.#unanswered };
  }

  #begin(): void {
    if (this.#asking.size >= AT_ONCE) return;
    const at = this.#made++;
    const asked: Ask =
      at % KEYED_EVERY === 0
        ? { name: "tell", key: `call-${at}`, args: { key: `call-${at}` } }
        : { name: "add", key: null, args: { a: at, b: 1 } };
    const asking = this.#untilAnswered(asked).finally(() => this.#asking.delete(asking));
    this.#asking.add(asking);
  }

  /** As a client would: it asks again where nobody took the request, and with a key where the answer says that it may. */
  async #untilAnswered(asked: Ask): Promise<void> {
    for (;;) {
      const { code, isRetryable } = await ask(this.#urlOf(), asked);
      this.#answers.set(code, (this.#answers.get(code) ?? 0) + 1);
      const isAnswered = code !== "no connection" && code !== "no answer";
      if (code === "ok" && asked.key !== null) this.#done.push(asked.key);
      if (isAnswered && (asked.key === null || !isRetryable)) return;
      if (performance.now() > this.#endMs) return void (isAnswered || this.#unanswered.push(asked.key ?? asked.name));
      await delay(AGAIN_MS);
    }
  }
}
