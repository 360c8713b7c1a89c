import type { FastifyReply } from "fastify";
import { EVENT_STREAM } from "./event-stream.ts";
import type { Sampler, StatsSnapshot } from "./sampler.ts";

/** What may wait for a client that reads slowly, besides what the system keeps for it. */
const UNREAD_MAX_BYTES = 128 * 1024;
const HEADERS = {
  "content-type": EVENT_STREAM,
  "cache-control": "no-store",
  "x-accel-buffering": "no",
  "x-content-type-options": "nosniff",
};

type Response = FastifyReply["raw"];

/** The clients that get each snapshot as an event: all the same bytes, and none of them more than it reads. */
export class StatsStreams {
  readonly #sampler: Pick<Sampler, "add" | "remove">;
  /** With what says whether the client may still have it. */
  readonly #responses = new Map<Response, () => boolean>();
  #isEnding = false;

  constructor(sampler: Pick<Sampler, "add" | "remove">) {
    this.#sampler = sampler;
  }

  get size(): number {
    return this.#responses.size;
  }

  add(reply: FastifyReply, mayGoOn: () => boolean): void {
    const { raw } = reply.hijack();
    if (raw.destroyed) return;
    raw.once("close", () => this.#remove(raw));
    raw.on("error", () => raw.destroy());
    raw.writeHead(200, { ...(reply.getHeaders() as Record<string, string>), ...HEADERS });
    // One of those that were on their way when the server began to stop.
    if (this.#isEnding) return void raw.end();
    raw.flushHeaders();
    this.#responses.set(raw, mayGoOn);
    if (this.#responses.size === 1) this.#sampler.add(this.#tell);
  }

  /** Streams have no end of their own, and a server that closes waits for all answers to end. */
  end(): void {
    this.#isEnding = true;
    for (const raw of this.#responses.keys()) raw.end();
  }

  #remove(raw: Response): void {
    this.#responses.delete(raw);
    if (this.#responses.size === 0) this.#sampler.remove(this.#tell);
  }

  readonly #tell = (snapshot: StatsSnapshot): void => {
    const event = Buffer.from(`data: ${JSON.stringify(snapshot)}\n\n`);
    for (const [raw, mayGoOn] of this.#responses) {
      if (!mayGoOn()) raw.end();
      else if (raw.writableLength > UNREAD_MAX_BYTES) raw.destroy();
      else raw.write(event);
    }
  };
}
