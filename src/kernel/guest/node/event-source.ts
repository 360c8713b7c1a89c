import { defineConstants, describeInterface } from "../web/web-interface.ts";
import { checkGrant, shownUrl, type SocketCall } from "./inner/granted.ts";
import type { NodeModule } from "./inner/library.ts";
import { ErrorEvent, defineHandlers, Handlers, MessageEvent } from "./web-events.ts";

/** The global `EventSource`: server-sent events over `fetch` (HTML Living Standard, 9.2). */

const [CONNECTING, OPEN, CLOSED] = [0, 1, 2];
const RETRY_MS = 3_000;
const RETRY_MIN_MS = 100;
const RETRY_MAX_MS = 30_000;
/** Maximum length of an event, in characters. */
const EVENT_MAX = 1024 * 1024;

interface Reader {
  read(): Promise<{ done: boolean; value?: Uint8Array }>;
}
interface StreamingResponse {
  readonly status: number;
  readonly url: string;
  readonly headers: { get(name: string): string | null };
  readonly body: { getReader(): Reader; cancel(): Promise<void> } | null;
}
interface Fetching {
  fetch(url: string, init: object): Promise<StreamingResponse>;
}
interface StreamDecoder {
  decode(bytes: Uint8Array, options: { readonly stream: boolean }): string;
}

/** Failures after which there is no other attempt. Code gets them, so they are of no class of this part's own. */
const finals = new WeakSet<object>();

function finalError(message: string): Error {
  const error = new Error(message);
  finals.add(error);
  return error;
}

function isFinal(failure: unknown): boolean {
  return failure instanceof Error && finals.has(failure);
}

class EventSource extends EventTarget {
  readonly #url: URL;
  readonly #withCredentials: boolean;
  readonly #handlers = new Handlers(this);
  readonly #abort = new AbortController();
  #readyState = CONNECTING;
  #lastId = "";
  #retryMs = RETRY_MS;
  /** Connections since the last one with an event: the wait doubles with each. */
  #vain = 0;
  readonly #call: SocketCall | null;
  #timer = 0;

  static {
    describeInterface(this, "EventSource");
    defineHandlers(this, ["open", "message", "error"], (target) => (target as EventSource).#handlers);
    defineConstants(this, Object.entries({ CONNECTING, OPEN, CLOSED }) as [string, number][]);
  }

  constructor(url: unknown, options: { readonly withCredentials?: boolean } = {}) {
    super();
    if (arguments.length === 0) throw new TypeError("An EventSource needs a URL");
    try {
      this.#url = new URL(`${url as string}`);
    } catch {
      throw new DOMException(`The URL ${`${url as string}`.slice(0, 200)} is invalid`, "SyntaxError");
    }
    this.#withCredentials = Boolean(options?.withCredentials);
    this.#call = checkGrant("EventSource", this.#url.href);
    if (this.#call !== null) void this.#connect(this.#call);
  }

  get url(): string {
    return this.#url.href;
  }

  get withCredentials(): boolean {
    return this.#withCredentials;
  }

  get readyState(): number {
    return this.#readyState;
  }

  close(): void {
    this.#readyState = CLOSED;
    this.#call?.timers.clear(this.#timer);
    this.#abort.abort();
  }

  async #connect(call: SocketCall): Promise<void> {
    const { fetch } = globalThis as unknown as Fetching;
    const last = this.#lastId === "" ? {} : { "last-event-id": bytesAsText(this.#lastId) };
    let failure: unknown = new Error("the server ended the stream");
    try {
      const response = await fetch(this.url, {
        headers: { accept: "text/event-stream", ...last },
        cache: "no-store",
        signal: this.#abort.signal,
      });
      await this.#read(response);
    } catch (error) {
      failure = error;
    }
    if (this.#readyState === CLOSED || call.settled) return;
    // A connection that fails is made again; a refusal and another answer than a stream are final.
    if (isFinal(failure) || isRefusal(failure)) {
      this.#readyState = CLOSED;
      const reason = failure instanceof Error ? failure.message : "";
      call.log("warn", `EventSource to ${shownUrl(this.#url)} failed: ${reason}`);
      this.dispatchEvent(new ErrorEvent("error", { error: failure }));
      return;
    }
    this.#readyState = CONNECTING;
    this.dispatchEvent(new ErrorEvent("error", { error: failure }));
    // A listener may have closed it.
    if (this.#readyState === CLOSED) return;
    const delayMs = Math.min(Math.max(this.#retryMs, RETRY_MIN_MS) * 2 ** this.#vain++, RETRY_MAX_MS);
    this.#timer = call.timers.set(() => void this.#connect(call), delayMs, [], false);
  }

  async #read({ status, url, headers, body }: StreamingResponse): Promise<void> {
    const type = (headers.get("content-type") ?? "").split(";")[0]?.trim().toLowerCase();
    if (status !== 200 || type !== "text/event-stream") {
      body?.cancel().catch(() => undefined);
      throw finalError(`the server answered with the status ${status} and the type "${(type ?? "").slice(0, 100)}"`);
    }
    this.#readyState = OPEN;
    this.dispatchEvent(new Event("open"));
    if (body === null) return;
    const reader = body.getReader();
    const decoder = new TextDecoder() as unknown as StreamDecoder;
    const lines = new EventLines();
    const { origin } = new URL(url);
    // A listener may close it at any event.
    while (this.readyState !== CLOSED) {
      const { done, value } = await reader.read();
      if (done || value === undefined) return;
      for (const line of lines.push(decoder.decode(value, { stream: true }))) {
        const event = lines.take(line);
        if (lines.retryMs !== null) this.#retryMs = lines.retryMs;
        if (line === "") this.#lastId = lines.id ?? this.#lastId;
        if (event === null) continue;
        this.#vain = 0;
        this.dispatchEvent(new MessageEvent(event.type, { data: event.data, lastEventId: this.#lastId, origin }));
        if (this.readyState === CLOSED) return;
      }
    }
  }
}

/** The stream's text as events. */
class EventLines {
  /** The last id that a line gave. */
  id: string | null = null;
  retryMs: number | null = null;
  #rest = "";
  #type = "";
  #data: string[] = [];
  #length = 0;
  /** The text so far ended with a carriage return, whose line feed may follow. */
  #isAfterReturn = false;

  push(text: string): readonly string[] {
    const given = this.#isAfterReturn && text.startsWith("\n") ? text.slice(1) : text;
    if (text !== "") this.#isAfterReturn = text.endsWith("\r");
    const lines = given.split(/\r\n|\n|\r/);
    lines[0] = this.#rest + (lines[0] ?? "");
    this.#rest = lines.pop() ?? "";
    if (this.#rest.length + this.#length > EVENT_MAX)
      throw finalError(`an event has more than ${EVENT_MAX} characters`);
    return lines;
  }

  /** The event that a line ends. */
  take(line: string): { readonly type: string; readonly data: string } | null {
    if (line === "") return this.#end();
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(line.startsWith(" ", colon + 1) ? colon + 2 : colon + 1);
    if (field === "data") {
      this.#data.push(value);
      this.#length += value.length + 1;
    } else if (field === "event") this.#type = value;
    else if (field === "id" && !value.includes("\0")) this.id = value;
    else if (field === "retry" && /^\d{1,9}$/.test(value)) this.retryMs = Number(value);
    return null;
  }

  #end(): { readonly type: string; readonly data: string } | null {
    const [type, data] = [this.#type || "message", this.#data];
    this.#type = "";
    this.#data = [];
    this.#length = 0;
    return data.length === 0 ? null : { type, data: data.join("\n") };
  }
}

/** Whether the host refused it: by the policy, or by a limit. */
function isRefusal(error: unknown): boolean {
  const code = error instanceof Error && "code" in error ? error.code : "";
  return code === "capability_denied" || code === "capability_limit";
}

/** The bytes of a text in UTF-8 as the characters of a header. */
function bytesAsText(text: string): string {
  return Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte)).join("");
}

export const shared: NodeModule = { EventSource };
