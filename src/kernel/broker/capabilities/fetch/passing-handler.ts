import type { Dispatcher } from "undici";
import { FetchFailure } from "./failure.ts";

/** Arguments of a method of a handler. */
type Told<Method extends keyof Dispatcher.DispatchHandler> = Parameters<
  NonNullable<Dispatcher.DispatchHandler[Method]>
>;

/** Passes on to another handler what becomes of a request. */
export class PassingHandler implements Dispatcher.DispatchHandler {
  readonly #handler: Dispatcher.DispatchHandler;

  constructor(handler: Dispatcher.DispatchHandler) {
    this.#handler = handler;
  }

  onRequestStart(...args: Told<"onRequestStart">): void {
    this.#handler.onRequestStart?.(...args);
  }

  onRequestUpgrade(...args: Told<"onRequestUpgrade">): void {
    this.#handler.onRequestUpgrade?.(...args);
  }

  onResponseStart(...args: Told<"onResponseStart">): void {
    this.#handler.onResponseStart?.(...args);
  }

  onResponseData(...args: Told<"onResponseData">): void {
    this.#handler.onResponseData?.(...args);
  }

  onResponseEnd(...args: Told<"onResponseEnd">): void {
    this.#handler.onResponseEnd?.(...args);
  }

  onResponseError(...args: Told<"onResponseError">): void {
    this.#handler.onResponseError?.(...args);
  }
}

/** Maximum number of informational responses, such as 103, before the response to one request. */
const INFORMATIONAL_MAX = 32;

/** Ends a request whose server sends informational responses without end: no limit in bytes counts them. */
export class InformationalLimit extends PassingHandler {
  #count = 0;

  override onResponseStart(...args: Told<"onResponseStart">): void {
    const [, status] = args;
    if (status < 200 && ++this.#count > INFORMATIONAL_MAX)
      throw new FetchFailure("the server sends too many informational responses");
    super.onResponseStart(...args);
  }
}
