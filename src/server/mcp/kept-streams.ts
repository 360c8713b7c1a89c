import type { RequestId } from "@modelcontextprotocol/server";

/** Limits of the streams of calls that are kept for clients that lost their connection. */
export interface KeptLimits {
  /** Maximum number of streams, and of their characters as JSON, per key and in total. */
  readonly perKey: { readonly streams: number; readonly characters: number };
  readonly total: { readonly streams: number; readonly characters: number };
  /** Maximum number of a stream's events; beyond it the oldest is forgotten. The last one is the call's result. */
  readonly events: number;
  /** Time for a client to come back, in milliseconds. Then its call is cancelled, and its stream forgotten. */
  readonly awayMs: number;
}

const MIB = 1024 * 1024;

export const KEPT_LIMITS: KeptLimits = {
  perKey: { streams: 256, characters: 8 * MIB },
  total: { streams: 4_096, characters: 64 * MIB },
  events: 256,
  awayMs: 15_000,
};

/** A call with a kept stream. */
export interface KeptCall {
  /** Its session: no other may resume the stream. */
  readonly session: object;
  readonly key: string | null;
  readonly request: Request;
  /** Its number within the session. */
  readonly id: RequestId;
}

/** The kept streams of a key. */
interface Holding {
  /** Oldest first. */
  readonly streams: Map<string, KeptStream>;
  characters: number;
}

interface KeptEvent {
  readonly number: number;
  readonly json: string;
  readonly characters: number;
}

/** Lifetimes of calls with kept streams, by their requests. */
const lifetimes = new WeakMap<Request, AbortSignal>();

/** Aborts when no client can receive the result of a request's call. */
export function lifetimeOf(request: Request): AbortSignal {
  return lifetimes.get(request) ?? request.signal;
}

/** The stream of one call: from its request until its client has been away for too long. */
export class KeptStream {
  readonly id: string;
  readonly call: KeptCall;
  readonly holding: Holding;
  readonly events: KeptEvent[] = [];
  characters = 0;
  isFinished = false;
  isForgotten = false;
  #last = 0;
  #connections = 0;
  #timer: NodeJS.Timeout | undefined;
  readonly #awayMs: number;
  readonly #lifetime = new AbortController();
  readonly #forget: () => void;

  constructor(id: string, call: KeptCall, holding: Holding, awayMs: number, forget: (stream: KeptStream) => void) {
    this.id = id;
    this.call = call;
    this.holding = holding;
    this.#awayMs = awayMs;
    this.#forget = () => forget(this);
    lifetimes.set(call.request, this.#lifetime.signal);
    this.attach(call.request.signal);
  }

  nextNumber(): number {
    return ++this.#last;
  }

  /** Adds a connection, which lasts until its signal aborts. */
  attach(connection: AbortSignal): void {
    clearTimeout(this.#timer);
    this.#connections += 1;
    if (connection.aborted) this.#detach();
    else connection.addEventListener("abort", () => this.#detach(), { once: true });
  }

  /** Frees the kept events. From now on the call lasts as long as its connection. */
  release(): void {
    this.isForgotten = true;
    this.events.length = 0;
    clearTimeout(this.#timer);
    if (this.#connections === 0) this.#lifetime.abort();
  }

  #detach(): void {
    this.#connections -= 1;
    if (this.#connections > 0) return;
    if (this.isForgotten) this.#lifetime.abort();
    else this.#timer = setTimeout(this.#forget, this.#awayMs).unref();
  }
}

/** The streams of all sessions' calls. */
export class KeptStreams {
  readonly #limits: KeptLimits;
  readonly #holdings = new Map<string | null, Holding>();
  #streams = 0;
  #characters = 0;

  constructor(limits: KeptLimits = KEPT_LIMITS) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#streams;
  }

  /** Begins to keep a call's stream; `null` if there is no room, as all kept streams belong to running calls. */
  begin(id: string, call: KeptCall): KeptStream | null {
    const holding = this.#holdings.get(call.key) ?? { streams: new Map<string, KeptStream>(), characters: 0 };
    if (!this.#makeRoom(holding, 1, 0)) return null;
    this.#holdings.set(call.key, holding);
    const stream = new KeptStream(id, call, holding, this.#limits.awayMs, (one) => this.forget(one));
    holding.streams.set(id, stream);
    this.#streams += 1;
    return stream;
  }

  find(id: string, key: string | null): KeptStream | undefined {
    return this.#holdings.get(key)?.streams.get(id);
  }

  /** The streams of a session. */
  *of(session: object, key: string | null): Generator<KeptStream> {
    for (const stream of this.#holdings.get(key)?.streams.values() ?? []) {
      if (stream.call.session === session) yield stream;
    }
  }

  /**
   * Keeps an event. Returns its number; `null` if there is no room for it, and the whole stream is forgotten.
   * `more`: characters that it holds besides its JSON.
   */
  add(stream: KeptStream, json: string, more: number): number | null {
    const number = stream.nextNumber();
    const characters = json.length + more;
    if (stream.events.length === this.#limits.events) this.#count(stream, -(stream.events.shift()?.characters ?? 0));
    if (!this.#makeRoom(stream.holding, 0, characters) || stream.isForgotten) {
      this.forget(stream);
      return null;
    }
    stream.events.push({ number, json, characters });
    this.#count(stream, characters);
    return number;
  }

  forget(stream: KeptStream): void {
    const { holding, call } = stream;
    if (!holding.streams.delete(stream.id)) return;
    this.#streams -= 1;
    this.#count(stream, -stream.characters);
    if (holding.streams.size === 0) this.#holdings.delete(call.key);
    stream.release();
  }

  #count(stream: KeptStream, change: number): void {
    stream.characters += change;
    stream.holding.characters += change;
    this.#characters += change;
  }

  /** Forgets streams of calls that have ended: the key's own, then those of the key that holds most. */
  #makeRoom(own: Holding, streams: number, characters: number): boolean {
    const { perKey, total } = this.#limits;
    if (characters > perKey.characters) return false;
    while (own.streams.size + streams > perKey.streams || own.characters + characters > perKey.characters) {
      if (!this.#forgetOne(own)) return false;
    }
    while (this.#streams + streams > total.streams || this.#characters + characters > total.characters) {
      const [first = own, ...others] = this.#holdings.values();
      const heaviest = others.reduce((one, other) => (weightOf(other) > weightOf(one) ? other : one), first);
      if (!this.#forgetOne(heaviest)) return false;
    }
    return true;
  }

  #forgetOne({ streams }: Holding): boolean {
    for (const stream of streams.values()) {
      if (!stream.isFinished) continue;
      this.forget(stream);
      return true;
    }
    return false;
  }
}

/** A stream weighs about as much as a small result. */
const STREAM_CHARACTERS = 1_024;

function weightOf({ streams, characters }: Holding): number {
  return characters + streams.size * STREAM_CHARACTERS;
}
