import type { NodeModule } from "./inner/library.ts";

/** The globals `WebSocket` and `EventSource`. */

const STATES = { CONNECTING: 0, OPEN: 1, CLOSING: 2, CLOSED: 3 };

class WebSocket {
  constructor(url?: unknown) {
    if (url === undefined) throw new TypeError("WebSocket takes a URL");
    const shown = String(url as string).slice(0, 200);
    throw Object.assign(
      new Error(
        `WebSocket cannot connect to ${shown} from an isolate: use fetch, which may stream an answer, with a grant of the capability "fetch"; or a custom capability of the host`,
      ),
      { code: "ERR_FEATURE_UNAVAILABLE_ON_PLATFORM" },
    );
  }
}
Object.assign(WebSocket, STATES);

interface Reader {
  read(): Promise<{ done: boolean; value?: Uint8Array }>;
}
interface Streaming {
  readonly ok: boolean;
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  readonly body: { getReader(): Reader } | null;
}
type Handler = ((event: object) => void) | null;

const MAX_LINE = 1024 * 1024;

/** Server-sent events over `fetch` (HTML Living Standard, 9.2). */
class EventSource {
  readonly url: string;
  readonly withCredentials: boolean;
  readyState = 0;
  onopen: Handler = null;
  onmessage: Handler = null;
  onerror: Handler = null;
  readonly #listeners = new Map<string, Set<(event: object) => void>>();
  readonly #abort = new AbortController();
  #lastId = "";
  #retryMs = 3_000;

  constructor(url: unknown, options: { withCredentials?: boolean } = {}) {
    this.url = new URL(String(url as string)).href;
    this.withCredentials = options.withCredentials === true;
    void this.#connect();
  }

  addEventListener(type: string, listener: (event: object) => void): void {
    const all = this.#listeners.get(type) ?? new Set();
    this.#listeners.set(type, all);
    all.add(listener);
  }

  removeEventListener(type: string, listener: (event: object) => void): void {
    this.#listeners.get(type)?.delete(listener);
  }

  close(): void {
    this.readyState = 2;
    this.#abort.abort();
  }

  #emit(type: string, facts: object = {}): void {
    const event = { type, target: this, ...facts };
    const own =
      type === "open" ? this.onopen : type === "error" ? this.onerror : type === "message" ? this.onmessage : null;
    own?.(event);
    for (const listener of Array.from(this.#listeners.get(type) ?? [])) listener(event);
  }

  async #connect(): Promise<void> {
    const { fetch } = globalThis as unknown as { fetch: (url: string, init: object) => Promise<Streaming> };
    const last = this.#lastId === "" ? {} : { "last-event-id": this.#lastId };
    try {
      const response = await fetch(this.url, {
        headers: { accept: "text/event-stream", ...last },
        signal: this.#abort.signal,
      });
      const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") === true;
      if (!response.ok || !isStream || response.body === null) return this.#fail(`status ${response.status}`);
      this.readyState = 1;
      this.#emit("open");
      await this.#read(response.body.getReader());
    } catch (error) {
      if (this.readyState !== 2) this.#fail(error instanceof Error ? error.message : "");
      return;
    }
    if (this.readyState === 2) return;
    this.readyState = 0;
    this.#emit("error");
    setTimeout(() => {
      if (this.readyState === 0) void this.#connect();
    }, this.#retryMs);
  }

  #fail(message: string): void {
    this.readyState = 2;
    this.#emit("error", { message });
  }

  async #read(reader: Reader): Promise<void> {
    const decoder = new TextDecoder() as unknown as { decode(bytes: Uint8Array, options: { stream: boolean }): string };
    let text = "";
    let event = { type: "message", data: [] as string[], id: this.#lastId };
    for (;;) {
      const { done, value } = await reader.read();
      if (done || value === undefined || this.readyState === 2) return;
      text += decoder.decode(value, { stream: true });
      if (text.length > MAX_LINE) throw new Error("a line of the stream is too long");
      const lines = text.split(/\r\n|\n|\r(?!$)/);
      text = lines.pop() ?? "";
      for (const line of lines) {
        if (line !== "") this.#take(line, event);
        else {
          this.#lastId = event.id;
          if (event.data.length > 0)
            this.#emit(event.type, { data: event.data.join("\n"), lastEventId: event.id, origin: this.url });
          event = { type: "message", data: [], id: this.#lastId };
        }
      }
    }
  }

  #take(line: string, event: { type: string; data: string[]; id: string }): void {
    const [, field = "", value = ""] = /^([^:]*)(?:: ?(.*))?$/.exec(line) ?? [];
    if (field === "data") event.data.push(value);
    else if (field === "event") event.type = value;
    else if (field === "id" && !value.includes("\0")) event.id = value;
    else if (field === "retry" && /^\d+$/.test(value)) this.#retryMs = Number(value);
  }
}
Object.assign(EventSource, { CONNECTING: 0, OPEN: 1, CLOSED: 2 });

export const shared: NodeModule = { WebSocket, EventSource };
