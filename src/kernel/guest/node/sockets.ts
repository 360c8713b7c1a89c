import { decodeBase64, encodeBase64 } from "../web/base64-bytes.ts";
import { bytesOf } from "../web/buffer-source.ts";
import { defineConstants, describeInterface } from "../web/web-interface.ts";
import { checkGrant, shownUrl, type SocketCall } from "./inner/granted.ts";
import type { NodeModule } from "./inner/library.ts";
import { CloseEvent, type Closing, ErrorEvent, defineHandlers, Handlers, MessageEvent } from "./web-events.ts";

/** The global `WebSocket` (WebSockets Standard, 3): the host connects, and decides whether the call may. */

const [CONNECTING, OPEN, CLOSING, CLOSED] = [0, 1, 2, 3];
const PROTOCOL = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const REASON_MAX = 123;

type Data = { readonly text: string } | { readonly base64: string };
type Answer = Data | { readonly closed: Closing };

class WebSocket extends EventTarget {
  readonly #url: URL;
  readonly #call: SocketCall | null;
  readonly #id: number;
  readonly #handlers = new Handlers(this);
  #readyState = CONNECTING;
  #bufferedAmount = 0;
  #protocol = "";
  #extensions = "";
  #binaryType: "blob" | "arraybuffer" = "blob";
  /** Data sent after a `Blob` waits until the `Blob` is read; `null` while nothing waits. */
  #sending: Promise<void> | null = null;

  static {
    describeInterface(this, "WebSocket");
    defineHandlers(this, ["open", "message", "error", "close"], (target) => (target as WebSocket).#handlers);
    defineConstants(this, Object.entries({ CONNECTING, OPEN, CLOSING, CLOSED }) as [string, number][]);
  }

  constructor(url: unknown, protocols: unknown = []) {
    super();
    if (arguments.length === 0) throw new TypeError("A WebSocket needs a URL");
    this.#url = readUrl(url);
    const asked = readProtocols(protocols);
    this.#call = checkGrant("WebSocket", this.#url.href.replace(/^ws/, "http"));
    this.#id = this.#call?.nextRequest() ?? 0;
    // Code that an ended call left behind never connects.
    if (this.#call !== null) void this.#run(this.#call, asked);
  }

  get url(): string {
    return this.#url.href;
  }

  get readyState(): number {
    // A socket that an ended call left in a shared module is closed.
    return this.#call?.settled === true ? CLOSED : this.#readyState;
  }

  get bufferedAmount(): number {
    return this.#bufferedAmount;
  }

  get extensions(): string {
    return this.#extensions;
  }

  get protocol(): string {
    return this.#protocol;
  }

  get binaryType(): string {
    return this.#binaryType;
  }

  set binaryType(type: string) {
    if (type === "blob" || type === "arraybuffer") this.#binaryType = type;
  }

  send(data: unknown): void {
    if (arguments.length === 0) throw new TypeError("send needs data");
    if (this.#readyState === CONNECTING) throw new DOMException("The WebSocket is not open yet", "InvalidStateError");
    if (data instanceof Blob) return this.#send(data.size, async () => encode(await data.arrayBuffer()));
    const bytes = bytesOf(data);
    if (bytes !== undefined) return this.#send(bytes.length, encode(bytes));
    const text = `${data as string}`.toWellFormed();
    this.#send(utf8Length(text), { text });
  }

  close(code?: unknown, reason: unknown = ""): void {
    const number = code === undefined ? undefined : clamp(code);
    if (number !== undefined && number !== 1_000 && !(number >= 3_000 && number <= 4_999))
      throw new DOMException(
        `The close code ${number} is neither 1000 nor between 3000 and 4999`,
        "InvalidAccessError",
      );
    const text = `${reason as string}`.toWellFormed();
    if (utf8Length(text) > REASON_MAX)
      throw new DOMException(`The reason is longer than ${REASON_MAX} bytes`, "SyntaxError");
    if (this.#readyState >= CLOSING) return;
    this.#readyState = CLOSING;
    const asked = text !== "" && number === undefined ? 1_000 : number;
    const ask = () => this.#ask("close", { ...(asked === undefined ? {} : { code: asked }), reason: text });
    if (this.#sending === null) ask().catch(ignore);
    else this.#sending = this.#sending.then(ask).then(ignore, ignore);
  }

  #send(size: number, data: Data | (() => Promise<Data>)): void {
    this.#bufferedAmount += size;
    if (this.#readyState !== OPEN) return;
    const ask = async (given: Data): Promise<void> => {
      try {
        await this.#ask("send", { data: given });
        this.#bufferedAmount -= size;
      } catch (error) {
        this.#fail(error);
      }
    };
    if (this.#sending === null && typeof data !== "function") return void ask(data);
    const sending = (this.#sending ?? Promise.resolve()).then(async () => {
      // Its answer is not awaited: later data is sent after it all the same.
      void ask(typeof data === "function" ? await data() : data);
      if (this.#sending === sending) this.#sending = null;
    });
    this.#sending = sending;
  }

  #ask(method: string, args: object): Promise<unknown> {
    return this.#call?.ask("fetch", method, { id: this.#id, ...args }) ?? Promise.resolve();
  }

  async #run(call: SocketCall, protocols: readonly string[]): Promise<void> {
    try {
      const opened = (await call.ask("fetch", "connect", { id: this.#id, url: this.url, protocols })) as {
        readonly protocol: string;
        readonly extensions: string;
      };
      if (this.#readyState === CONNECTING) {
        this.#readyState = OPEN;
        this.#protocol = opened.protocol;
        this.#extensions = opened.extensions;
        this.dispatchEvent(new Event("open"));
      }
      for (;;) {
        const answer = (await this.#ask("receive", {})) as Answer;
        if (this.#readyState === CLOSED) return;
        if ("closed" in answer) return this.#end(answer.closed);
        if (this.#readyState === OPEN)
          this.dispatchEvent(new MessageEvent("message", { data: this.#read(answer), origin: this.#url.origin }));
      }
    } catch (error) {
      this.#fail(error);
    }
  }

  #read(data: Data): unknown {
    if ("text" in data) return data.text;
    const bytes = decodeBase64(data.base64);
    return this.#binaryType === "blob" ? new Blob([bytes]) : bytes.buffer;
  }

  #end(closing: Closing): void {
    this.#readyState = CLOSED;
    if (closing.code === 1_006) {
      const message =
        "the connection was lost: the server closed it, broke the protocol, or sent a message of more than 1 MiB";
      return this.#close(new Error(message), closing);
    }
    this.dispatchEvent(new CloseEvent("close", closing));
  }

  #fail(error: unknown): void {
    if (this.#readyState === CLOSED) return;
    const wasOpen = this.#readyState === OPEN;
    this.#readyState = CLOSED;
    if (wasOpen) this.#ask("close", { reason: "" }).catch(ignore);
    this.#close(error, { code: 1_006, reason: "", wasClean: false });
  }

  #close(error: unknown, closing: Closing): void {
    const reason = error instanceof Error ? error.message : "";
    this.#call?.log("warn", `WebSocket to ${shownUrl(this.#url)} failed: ${reason}`);
    this.dispatchEvent(new ErrorEvent("error", { error }));
    this.dispatchEvent(new CloseEvent("close", { ...closing, reason: closing.reason || reason }));
  }
}

function ignore(): void {}

function encode(bytes: ArrayBuffer | Uint8Array): Data {
  return { base64: encodeBase64(bytes instanceof Uint8Array ? bytes : new Uint8Array(bytes)) };
}

function readUrl(given: unknown): URL {
  let url: URL;
  try {
    url = new URL(`${given as string}`);
  } catch {
    throw new DOMException(`The URL ${`${given as string}`.slice(0, 200)} is invalid`, "SyntaxError");
  }
  if (url.protocol === "http:" || url.protocol === "https:") url = new URL(url.href.replace(/^http/, "ws"));
  if (url.protocol !== "ws:" && url.protocol !== "wss:")
    throw new DOMException(`The protocol ${url.protocol} is neither ws: nor wss:`, "SyntaxError");
  if (url.href.includes("#")) throw new DOMException("The URL of a WebSocket has no fragment", "SyntaxError");
  return url;
}

function readProtocols(given: unknown): readonly string[] {
  const isList = typeof given === "object" && given !== null && Symbol.iterator in given;
  const protocols = (isList ? [...(given as Iterable<unknown>)] : [given]).map((each) => `${each as string}`);
  const distinct = new Set(protocols.map((each) => each.toLowerCase()));
  if (distinct.size < protocols.length || !protocols.every((each) => PROTOCOL.test(each)))
    throw new DOMException("The protocols of a WebSocket are different tokens", "SyntaxError");
  return protocols;
}

/** An `unsigned short` of Web IDL, with `[Clamp]`. */
function clamp(code: unknown): number {
  return Math.round(Math.min(Math.max(Number(code) || 0, 0), 65_535));
}

function utf8Length(text: string): number {
  let length = 0;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    // Both halves of a pair have two bytes each.
    length += unit < 0x80 ? 1 : unit < 0x800 || (unit >= 0xd800 && unit <= 0xdfff) ? 2 : 3;
  }
  return length;
}

export const shared: NodeModule = { WebSocket };
