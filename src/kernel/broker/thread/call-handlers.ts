import type { HostAccount } from "../../base/tenant-account.ts";
import type { BrokeredCall } from "../brokered-call.ts";
import type { Capability } from "../capabilities/capability.ts";
import type { BegunMethod, EndedMethod, MethodCaller } from "../method-call.ts";
import { OpenedCapabilities, type Track } from "../opened-capabilities.ts";
import type { HostMethod } from "./host-capability.ts";

const CALL_ENDED: EndedMethod = {
  kind: "ended",
  effects: 0,
  outcome: { kind: "failed", message: "the call has ended" },
};

/** The embedder's thread, as handlers need it. */
export interface HandlerHost {
  readonly methods: MethodCaller;
  /** Capabilities whose handlers are closures of this thread, by name. */
  readonly handlers: ReadonlyMap<string, Capability>;
  readonly track: Track;
}

/** The capabilities of the embedder's thread as they serve one call. */
export class CallHandlers {
  readonly #host: HandlerHost;
  readonly #caller: BrokeredCall;
  readonly #account: HostAccount;
  readonly #opened: OpenedCapabilities;

  constructor(host: HandlerHost, caller: BrokeredCall, account: HostAccount) {
    this.#host = host;
    this.#caller = caller;
    this.#account = account;
    this.#opened = new OpenedCapabilities(caller, { grantsOf: () => [] });
  }

  /** Carries out a method that the broker has granted. `respond` gets its end, at once or later. */
  handle(
    { capability: name, step, method, label, args, grants }: HostMethod,
    respond: (end: EndedMethod) => void,
  ): void {
    const { own } = this.#caller;
    const capability = own?.name === name ? own : this.#host.handlers.get(name);
    if (capability === undefined || capability.kind === "host")
      return respond({ kind: "ended", effects: 0, outcome: { kind: "failed", message: `${label} does not exist` } });
    const open = () => this.#opened.open(capability, grants);
    const { methods } = this.#host;
    const { keep } = this.#caller;
    const begins =
      keep === undefined
        ? undefined
        : (isLater: boolean, isRepeatable: boolean) =>
            isLater ? undefined : keep.begin(step, isRepeatable).then(() => this.#opened.requireOpen());
    const asked = { capability, method, args, label, open, step, begins };
    const begin = (): BegunMethod => (this.#opened.isEnded ? CALL_ENDED : methods.begin(asked, this.#account));
    const begun = methods.inTurn(begin, this.#account);
    if (!(begun instanceof Promise) && begun.kind === "ended") return respond(begun);
    void awaitEnd(begun).then(respond);
  }

  /** Aborts handlers that are still running, and releases the resources of capabilities. */
  end(): void {
    this.#opened.end(this.#host.track);
  }
}

async function awaitEnd(begun: BegunMethod | Promise<BegunMethod>): Promise<EndedMethod> {
  const started = await begun;
  return started.kind === "running" ? started.end : started;
}
