import type { HostAccount } from "../../base/tenant-account.ts";
import type { BrokeredCall } from "../brokered-call.ts";
import type { Capability, OpenCall, OpenCapability } from "../capabilities/capability.ts";
import type { BegunMethod, EndedMethod, MethodCaller } from "../method-call.ts";
import type { HostMethod } from "./host-capability.ts";

const ENDED = new DOMException("the call has ended", "AbortError");
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
}

/** The capabilities of the embedder's thread as they serve one call. */
export class CallHandlers {
  readonly #host: HandlerHost;
  readonly #caller: BrokeredCall;
  readonly #account: HostAccount;
  readonly #opened = new Map<string, OpenCapability>();
  /** Created when a handler first reads its signal. */
  #abort: AbortController | null = null;
  #isEnded = false;

  constructor(host: HandlerHost, caller: BrokeredCall, account: HostAccount) {
    this.#host = host;
    this.#caller = caller;
    this.#account = account;
  }

  /** Carries out a method that the broker has granted. `respond` gets its end, at once or later. */
  handle({ capability: name, method, label, args, grants }: HostMethod, respond: (end: EndedMethod) => void): void {
    const { own } = this.#caller;
    const capability = own?.name === name ? own : this.#host.handlers.get(name);
    if (capability === undefined || capability.kind === "host")
      return respond({ kind: "ended", effects: 0, outcome: { kind: "failed", message: `${label} does not exist` } });
    const open = (): OpenCapability => this.#open(capability, grants);
    const { methods } = this.#host;
    const begin = (): BegunMethod =>
      this.#isEnded ? CALL_ENDED : methods.begin({ capability, method, args, label, open }, this.#account);
    const begun = methods.inTurn(begin, this.#account);
    if (!(begun instanceof Promise) && begun.kind === "ended") return respond(begun);
    void awaitEnd(begun).then(respond);
  }

  /** Aborts handlers that are still running. Resolves when all resources are released. */
  async end(): Promise<void> {
    this.#isEnded = true;
    this.#abort?.abort(ENDED);
    await Promise.allSettled([...this.#opened.values()].map(async (opened) => opened.close?.()));
  }

  #open(capability: Capability, grants: readonly unknown[]): OpenCapability {
    let opened = this.#opened.get(capability.name);
    if (opened === undefined) this.#opened.set(capability.name, (opened = capability.open(this.#call(), grants)));
    return opened;
  }

  #call(): OpenCall {
    const { callId, tool, registrant, tenant, callTool } = this.#caller;
    const signal = (): AbortSignal => this.#signal();
    return {
      callId,
      tool,
      registrant,
      callTool: (name, args) => callTool(name, args, this.#signal()),
      grantsOf: () => [],
      get signal() {
        return signal();
      },
      ...(tenant === "" ? {} : { tenant }),
    };
  }

  #signal(): AbortSignal {
    this.#abort ??= new AbortController();
    if (this.#isEnded) this.#abort.abort(ENDED);
    return this.#abort.signal;
  }
}

async function awaitEnd(begun: BegunMethod | Promise<BegunMethod>): Promise<EndedMethod> {
  const started = await begun;
  return started.kind === "running" ? started.end : started;
}
