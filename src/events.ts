import { EventEmitter } from "node:events";
import type { CapabilityOutcome } from "./broker/broker.ts";
import type { ExecutorEvent, RestartReason } from "./executor/executor.ts";
import type { ToolInfo } from "./tool/definition.ts";
import type { ToolCall, ToolResult } from "./result.ts";

/** Every event of an engine and what its listeners get. Names are `subject:verb`. */
export interface EventMap {
  /** A valid call is about to be queued; a listener may refuse it. */
  "tool:pre": [event: PreEvent];
  /** A call ended well. */
  "tool:post": [event: CallEvent];
  /** A call ended with an error, whether it ran or not. */
  "tool:error": [event: CallEvent];
  /** A tool asked the host for something. */
  "capability:call": [event: CapabilityOutcome];
  "tool:register": [event: { readonly info: ToolInfo; readonly replaced: boolean }];
  "tool:unregister": [event: { readonly name: string }];
  /** A batch of calls went to a worker. */
  "dispatch:batch": [event: { readonly size: number }];
  /** An executor process went to work. */
  "executor:start": [event: { readonly pid: number }];
  /** An executor was lost and replaced. `culprits` are the tools to blame. */
  "executor:lost": [event: { readonly reason: RestartReason; readonly culprits: readonly string[] }];
  /** A tool runs apart from now on; after enough strikes it is refused for a while. */
  "tool:quarantine": [event: { readonly tool: string; readonly strikes: number }];
  /** No call is taken any more. */
  "engine:close": [];
}

export interface PreEvent {
  readonly callId: string;
  readonly tool: string;
  readonly tenant: string;
  readonly call: ToolCall;
  /** Refuses the call: its result is `blocked` with this reason. */
  block(reason: string): void;
}

export interface CallEvent {
  readonly callId: string;
  readonly tool: string;
  readonly tenant: string;
  readonly result: ToolResult;
}

export type EventName = keyof EventMap;
export type Listener<Name extends EventName> = (...args: EventMap[Name]) => void;

/** The engine's events. A listener that throws harms neither the call nor the other listeners. */
export class Events {
  readonly #emitter = new EventEmitter().setMaxListeners(100);

  on<Name extends EventName>(name: Name, listener: Listener<Name>): void {
    this.#emitter.on(name, listener as (...args: unknown[]) => void);
  }

  off<Name extends EventName>(name: Name, listener: Listener<Name>): void {
    this.#emitter.off(name, listener as (...args: unknown[]) => void);
  }

  /** Whether anybody listens: events of the hot path are only made where somebody does. */
  has(name: EventName): boolean {
    return this.#emitter.listenerCount(name) > 0;
  }

  emit<Name extends EventName>(name: Name, ...args: EventMap[Name]): void {
    for (const listener of this.#emitter.listeners(name)) {
      try {
        Reflect.apply(listener, undefined, args);
      } catch (error) {
        // As Node does with an error nobody handles, but not in the middle of somebody's call.
        queueMicrotask(() => {
          process.emitWarning(error instanceof Error ? error : new Error(String(error)), "GloveboxListenerWarning");
        });
      }
    }
  }
}

/** Tells what an executor did under the engine's own names. */
export function emitExecutorEvent(events: Events, event: ExecutorEvent): void {
  switch (event.kind) {
    case "batch":
      return events.emit("dispatch:batch", { size: event.size });
    case "started":
      return events.emit("executor:start", { pid: event.pid });
    case "lost":
      return events.emit("executor:lost", { reason: event.reason, culprits: event.culprits });
    case "quarantined":
      return events.emit("tool:quarantine", { tool: event.tool, strikes: event.strikes });
  }
}
