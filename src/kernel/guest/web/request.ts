import type { WebAbortSignal } from "./abort.ts";
import { type BodyMembers, defineBodyMembers } from "./body-members.ts";
import { HeaderList } from "./header-list.ts";
import { Headers } from "./headers.ts";
import { type RequestInit, type RequestState, readRequest } from "./request-state.ts";
import { realmParts } from "./realm-parts.ts";
import { describeInterface } from "./web-interface.ts";

let readState = (_request: object): RequestState => readRequest("about:blank", undefined);
let readNew = readRequest;

/** A request, before it is sent. */
export class Request {
  readonly #state: RequestState;
  readonly #signal: WebAbortSignal;
  #headers: Headers | undefined;

  static {
    readState = (request) => (request as Request).#state;
    readNew = (input, init) => {
      const isRequest = typeof input === "object" && input !== null && #state in input;
      return readRequest(isRequest ? input.#state : input, init);
    };
    describeInterface(this, "Request");
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

  constructor(input: string | Request | ReadyState, ...[init]: [init?: RequestInit | null]) {
    if (arguments.length === 0) throw new TypeError("1 argument required, but only 0 given");
    this.#state = input instanceof ReadyState ? input.state : readNew(input, init);
    const { signal } = this.#state;
    this.#signal = realmParts().AbortSignal.any(signal === null ? [] : [signal]);
  }

  get method(): string {
    return this.#state.method;
  }

  get url(): string {
    return this.#state.url;
  }

  get headers(): Headers {
    return (this.#headers ??= new Headers(this.#state.headers));
  }

  get destination(): string {
    return "";
  }

  get referrer(): string {
    return this.#state.options.referrer;
  }

  get referrerPolicy(): string {
    return this.#state.options.referrerPolicy;
  }

  get mode(): string {
    return this.#state.options.mode;
  }

  get credentials(): string {
    return this.#state.options.credentials;
  }

  get cache(): string {
    return this.#state.options.cache;
  }

  get redirect(): string {
    return this.#state.redirect;
  }

  get integrity(): string {
    return this.#state.options.integrity;
  }

  get keepalive(): boolean {
    return this.#state.options.keepalive;
  }

  get signal(): WebAbortSignal {
    return this.#signal;
  }

  get duplex(): string {
    return "half";
  }

  clone(): Request {
    const state = this.#state;
    const body = state.body?.clone() ?? null;
    return new Request(new ReadyState({ ...state, headers: new HeaderList(state.headers.entries), body }));
  }
}

/** State of a new request without an object for it; throws the errors of the constructor of `Request`. */
export function newRequestState(input: unknown, init: unknown): RequestState {
  return readNew(input, init);
}

/** State of a request; throws for any other object. */
export function requestState(request: object): RequestState {
  return readState(request);
}

/** Prepared state, from which code in this file creates copies. */
class ReadyState {
  readonly state: RequestState;

  constructor(state: RequestState) {
    this.state = state;
  }
}
