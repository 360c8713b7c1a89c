import { type Body, type BodyInit, extractBody } from "./body.ts";
import { type BodyMembers, defineBodyMembers } from "./body-members.ts";
import { byteString, HeaderList } from "./header-list.ts";
import { fillHeaders, Headers, type HeadersInit } from "./headers.ts";
import { realmParts } from "./realm-parts.ts";
import { describeInterface } from "./web-interface.ts";

/** Options of a response. */
export interface ResponseInit {
  readonly status?: number;
  readonly statusText?: string;
  readonly headers?: HeadersInit;
}

type ResponseType = "default" | "basic" | "error" | "opaqueredirect";

/** State of a response. */
export interface ResponseState {
  readonly type: ResponseType;
  readonly url: string;
  readonly status: number;
  readonly statusText: string;
  readonly redirected: boolean;
  readonly headers: HeaderList;
  readonly body: Body | null;
}

const NULL_BODY = [101, 103, 204, 205, 304];
const REDIRECTS = [301, 302, 303, 307, 308];
const PLAIN = { type: "default", url: "", status: 200, statusText: "", redirected: false, body: null } as const;
const REASON = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Prepared state, from which code in this folder creates responses. */
class ReadyState {
  readonly state: ResponseState;

  constructor(state: ResponseState) {
    this.state = state;
  }
}

/** Whether a response of this status has no body, even if bytes arrive. */
export function isBodiless(status: number): boolean {
  return NULL_BODY.includes(status);
}

/** A response with the given state. */
export function responseOf(state: ResponseState): Response {
  return new Response(new ReadyState(state));
}

let readState = (_response: object): ResponseState => ({ ...PLAIN, headers: new HeaderList() });

/** The response to a request. */
export class Response {
  readonly #state: ResponseState;
  #headers: Headers | undefined;

  static {
    readState = (response) => (response as Response).#state;
    describeInterface(this, "Response");
    defineBodyMembers(this, readState);
  }

  declare readonly body: BodyMembers["body"];
  declare readonly bodyUsed: boolean;
  declare readonly text: BodyMembers["text"];
  declare readonly json: BodyMembers["json"];
  declare readonly arrayBuffer: BodyMembers["arrayBuffer"];
  declare readonly bytes: BodyMembers["bytes"];
  declare readonly blob: BodyMembers["blob"];
  declare readonly formData: BodyMembers["formData"];

  constructor(...[body, init]: [body?: BodyInit | null | ReadyState, init?: ResponseInit | null]) {
    if (body instanceof ReadyState) {
      this.#state = body.state;
      return;
    }
    const extracted = body === undefined || body === null ? null : extractBody(body);
    this.#state = readInit(init, extracted?.body ?? null, extracted?.type ?? null);
  }

  static error(): Response {
    return responseOf({ ...PLAIN, type: "error", status: 0, headers: new HeaderList([], true) });
  }

  static redirect(url: string, status: number = 302): Response {
    if (arguments.length === 0) throw new TypeError("1 argument required, but only 0 given");
    const { href } = new (realmParts().URL)(url);
    const code = Number(status);
    if (!REDIRECTS.includes(code)) throw new RangeError(`Invalid status code ${code}`);
    return responseOf({ ...PLAIN, status: code, headers: new HeaderList([["location", href]], true) });
  }

  static json(data: unknown, ...[init]: [init?: ResponseInit | null]): Response {
    const text = JSON.stringify(data);
    if (text === undefined) throw new TypeError("The data cannot be written as JSON");
    return responseOf(readInit(init, extractBody(text).body, "application/json"));
  }

  get type(): string {
    return this.#state.type;
  }

  get url(): string {
    return this.#state.url;
  }

  get redirected(): boolean {
    return this.#state.redirected;
  }

  get status(): number {
    return this.#state.status;
  }

  get ok(): boolean {
    return this.#state.status >= 200 && this.#state.status <= 299;
  }

  get statusText(): string {
    return this.#state.statusText;
  }

  get headers(): Headers {
    return (this.#headers ??= new Headers(this.#state.headers));
  }

  clone(): Response {
    const state = this.#state;
    const headers = new HeaderList(state.headers.entries, state.headers.isImmutable);
    return responseOf({ ...state, headers, body: state.body?.clone() ?? null });
  }
}

/** State of a response; throws for any other object. */
export function responseState(response: object): ResponseState {
  return readState(response);
}

function readInit(init: unknown, body: Body | null, type: string | null): ResponseState {
  const given = readDictionary(init);
  const status = given.status === undefined ? 200 : Math.trunc(Number(given.status));
  // Written so that NaN is refused as well.
  if (!(status >= 200 && status <= 599)) throw new RangeError("The status of a response is from 200 to 599");
  const statusText = given.statusText === undefined ? "" : byteString(given.statusText);
  if (!REASON.test(statusText)) throw new TypeError("The status text has characters that it must not have");
  const headers = new HeaderList();
  if (given.headers !== undefined) fillHeaders(headers, given.headers);
  if (body !== null && isBodiless(status)) throw new TypeError(`A response of status ${status} has no body`);
  if (type !== null && !headers.has("content-type")) headers.append("content-type", type);
  return { ...PLAIN, status, statusText, headers, body };
}

function readDictionary(init: unknown): ResponseInit {
  if (init === undefined || init === null) return {};
  if (typeof init === "object" || typeof init === "function") return init;
  throw new TypeError("The init of a response has to be an object");
}
