import type { WebAbortSignal } from "./abort.ts";
import { type BodyMembers, defineBodyMembers } from "./body-members.ts";
import { HeaderList } from "./header-list.ts";
import { Headers } from "./headers.ts";
import { followSignal, type RequestInit, type RequestState, readRequest } from "./request-state.ts";
import { describeInterface } from "./web-interface.ts";

let readState = (_request: object): RequestState => readRequest("about:blank", undefined);

/** A request, before it is sent. */
export class Request {
  readonly #state: RequestState;
  #headers: Headers | undefined;

  static {
    readState = (request) => (request as Request).#state;
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
    if (input instanceof ReadyState) this.#state = input.state;
    else {
      const isRequest = typeof input === "object" && input !== null && #state in input;
      this.#state = readRequest(isRequest ? input.#state : input, init);
    }
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
    return this.#state.signal;
  }

  get duplex(): string {
    return "half";
  }

  clone(): Request {
    const state = this.#state;
    const body = state.body?.clone() ?? null;
    const signal = followSignal(state.signal);
    return new Request(new ReadyState({ ...state, headers: new HeaderList(state.headers.entries), body, signal }));
  }
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
