import { parseForWriting } from "../../kernel/base/exact-json.ts";
import { AsyncLocalStorage } from "node:async_hooks";
import type { EventStore, JSONRPCMessage, RequestId } from "@modelcontextprotocol/server";
import type { KeptStream, KeptStreams } from "./kept-streams.ts";
import { outputCharacters, shareOutputs } from "./long-outputs.ts";

/** An event ID of the protocol: the secret id of a stream, and the number of the event in it. */
const EVENT_ID = /^([0-9a-f-]{36})_(\d{1,15})$/;
/** The ID of an event that cannot be resumed from: clients take it for none. */
const NO_ID = "";

/** A call's request, while the library begins its stream. */
interface Beginning {
  readonly request: Request;
  readonly id: RequestId;
}

const beginnings = new AsyncLocalStorage<Beginning>();

/**
 * The streams of one session, as the protocol's library stores and resumes them. Those of calls are kept; a client that
 * misses another answer repeats its request.
 */
export class SessionStreams implements EventStore {
  readonly #kept: KeptStreams;
  readonly #key: string | null;

  constructor(kept: KeptStreams, key: string | null) {
    this.#kept = kept;
    this.#key = key;
  }

  /** Has the library handle a request; if it is a call, its stream is kept. */
  handle<T>(request: Request, call: RequestId | null, handle: () => Promise<T>): Promise<T> {
    return call === null ? handle() : beginnings.run({ request, id: call }, handle);
  }

  /** Connects a client that comes back to its stream. Returns whether there is one. */
  resume(eventId: string, request: Request): boolean {
    const stream = this.#find(eventId);
    if (stream === undefined) return false;
    shareOutputs(stream.call.request, request);
    stream.attach(request.signal);
    return true;
  }

  /** Forgets the stream of a call. */
  forget(id: RequestId): void {
    for (const stream of this.#kept.of(this, this.#key)) if (stream.call.id === id) this.#kept.forget(stream);
  }

  /** Forgets all streams. */
  end(): void {
    for (const stream of this.#kept.of(this, this.#key)) this.#kept.forget(stream);
  }

  async storeEvent(streamId: string, message: JSONRPCMessage): Promise<string> {
    // The library begins a stream with an empty message.
    if (!("jsonrpc" in message)) return this.#begin(streamId);
    const stream = this.#kept.find(streamId, this.#key);
    if (stream === undefined) return NO_ID;
    const isResponse = !("method" in message);
    const more = isResponse ? outputCharacters(stream.call.request) : 0;
    const number = this.#kept.add(stream, JSON.stringify(message), more);
    if (isResponse) stream.isFinished = true;
    return number === null ? NO_ID : `${streamId}_${number}`;
  }

  async replayEventsAfter(
    eventId: string,
    { send }: { readonly send: (eventId: string, message: JSONRPCMessage) => Promise<void> },
  ): Promise<string> {
    const stream = this.#find(eventId);
    if (stream === undefined) throw new TypeError("the stream was forgotten meanwhile");
    const last = Number(EVENT_ID.exec(eventId)?.[2]);
    for (const { number, json } of stream.events) {
      if (number > last) await send(`${stream.id}_${number}`, parseForWriting(json) as JSONRPCMessage);
    }
    return stream.id;
  }

  #begin(streamId: string): string {
    const beginning = beginnings.getStore();
    if (beginning === undefined) return NO_ID;
    const stream = this.#kept.begin(streamId, { ...beginning, session: this, key: this.#key });
    return stream === null ? NO_ID : `${streamId}_${stream.nextNumber()}`;
  }

  #find(eventId: string): KeptStream | undefined {
    const stream = this.#kept.find(EVENT_ID.exec(eventId)?.[1] ?? "", this.#key);
    return stream?.call.session === this ? stream : undefined;
  }
}
