import type { BrokeredCall } from "./brokered-call.ts";
import { CallFailure, type Capability, type OpenCall, type OpenCapability } from "./capabilities/capability.ts";

/** Makes the broker wait, when it closes, until an ended call has released its resources. */
export type Track = (closing: void | Promise<void>) => void;

/** Shared by all calls: creating a DOMException takes longer than most handlers do. */
const ENDED = new DOMException("the call has ended", "AbortError");

/** The capabilities that one call uses on this thread. Each is opened at its first use. */
export class OpenedCapabilities {
  readonly #caller: BrokeredCall;
  readonly #thread: Pick<OpenCall, "onHost" | "grantsOf" | "onWait">;
  readonly #startedMs = performance.now();
  readonly #opened = new Map<string, OpenCapability>();
  #call: OpenCall | null = null;
  /** Created when a handler first reads its signal. */
  #abort: AbortController | null = null;
  #isEnded = false;

  constructor(caller: BrokeredCall, thread: Pick<OpenCall, "onHost" | "grantsOf" | "onWait">) {
    this.#caller = caller;
    this.#thread = thread;
  }

  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** Throws if the call has ended, possibly while an effect was announced: then the effect must not happen. */
  requireOpen(): void {
    if (this.#isEnded) throw new CallFailure("cancelled", "the call has ended");
  }

  open(capability: Capability, grants: readonly unknown[]): OpenCapability {
    let opened = this.#opened.get(capability.name);
    if (opened === undefined) {
      opened = capability.open((this.#call ??= this.#openCall()), grants);
      this.#opened.set(capability.name, opened);
    }
    return opened;
  }

  /** State of the call that a later run would not find; `null` for none. */
  get held(): string | null {
    for (const { held = null } of this.#opened.values()) if (held !== null) return held;
    return null;
  }

  /** Aborts handlers that are still running, and releases the resources of capabilities. */
  end(track: Track): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#abort?.abort(ENDED);
    for (const opened of this.#opened.values()) {
      try {
        track(opened.close?.());
      } catch {
        // The call has ended, so nothing can report the error.
      }
    }
  }

  #openCall(): OpenCall {
    const {
      callId,
      callNumber,
      tool,
      registrant,
      tenant,
      callTool,
      adoptChild,
      pause,
      binary,
      remote,
      limits,
      effectsId,
    } = this.#caller;
    const signal = () => this.#signal();
    return {
      ...this.#thread,
      callId,
      tool,
      registrant,
      callTool: (name, args, step) => callTool(name, args, this.#signal(), step),
      get signal() {
        return signal();
      },
      ...(callNumber === undefined ? {} : { callNumber }),
      ...(tenant === "" ? {} : { tenant }),
      ...(limits.wallMs === undefined ? {} : { endsMs: this.#startedMs + limits.wallMs }),
      ...(adoptChild === undefined ? {} : { adoptChild }),
      ...(pause === undefined ? {} : { pause }),
      ...(effectsId === undefined ? {} : { effectsId }),
      ...(binary === undefined ? {} : { binary }),
      ...(remote === undefined ? {} : { remote }),
    };
  }

  #signal(): AbortSignal {
    this.#abort ??= new AbortController();
    if (this.#isEnded) this.#abort.abort(ENDED);
    return this.#abort.signal;
  }
}
