import type { CapabilityEvent } from "../../broker/capability-event.ts";
import type { Finding } from "../../broker/grants.ts";
import type { ErrorCode } from "../../base/errors.ts";
import type { ExecutorEvents } from "../../executor/executor.ts";
import type { PackageEvent } from "../../tool/package/step.ts";
import type { ToolInfo } from "../../tool/definition.ts";
import type { ToolCall, ToolResult } from "../../base/result.ts";

/** Every event of an engine and what its listeners get. Names are `subject:verb`. */
export interface EventMap extends ExecutorEvents {
  /** A valid call is about to be queued; a listener may refuse it. */
  "tool:pre": [event: PreEvent];
  /** A call ended well. */
  "tool:post": [event: CallEvent];
  /** A call ended with an error, whether it ran or not. */
  "tool:error": [event: CallEvent];
  /** A tool asked the host for something. */
  "capability:call": [event: CapabilityEvent];
  /** The audit had no room for what tools asked the host for; told several times a second at most. */
  "audit:drop": [event: AuditDrop];
  /** `findings`: what it asks for in vain, as no tenant may have it. */
  "tool:register": [
    event: { readonly info: ToolInfo; readonly replaced: boolean; readonly findings: readonly Finding[] },
  ];
  "tool:unregister": [event: { readonly name: string }];
  /** A package was fetched, unpacked, given what it depends on, or evaluated, or failed in that. */
  "package:step": [event: PackageEvent];
  /** A request was refused before it became a call: its key, its address, its role, or its key's share was not right. */
  "door:refuse": [event: RequestRefusal];
  /** A call was made with a key, and ended. */
  "key:call": [event: { readonly key: string; readonly code: ErrorCode | "ok" }];
  /** A call that was made with a key, or one on its behalf, took processor time. */
  "key:cpu": [event: { readonly key: string; readonly cpuMs: number }];
  /** Other options are in force. */
  "engine:reconfigure": [event: Reconfigured];
  /** No call is taken any more. */
  "engine:close": [];
}

export interface PreEvent {
  readonly callId: string;
  readonly tool: string;
  readonly tenant: string;
  /** The call on whose behalf it is made, where a tool called it. */
  readonly parentId?: string;
  readonly call: ToolCall;
  /** Refuses the call: its result is `blocked` with this reason. */
  block(reason: string): void;
}

/** Who was refused at a door, and why. Nothing of what was sent in the place of a key is in it. */
export interface RequestRefusal {
  readonly code: Extract<ErrorCode, "unauthorized" | "forbidden" | "rate_limited">;
  /** The name of the key; `null` where none was sent that is known. */
  readonly key: string | null;
  /** Where the request came from; `null` where that is not known. */
  readonly address: string | null;
  readonly reason: string;
}

/** What changed when other options were put in force. */
export interface Reconfigured {
  /** Names of tools that were not there before, that are others now, and that are gone. */
  readonly registered: readonly string[];
  readonly replaced: readonly string[];
  readonly removed: readonly string[];
  readonly isPolicyChanged: boolean;
  readonly areLimitsChanged: boolean;
  /** Options that say something else than before, and are in force only in an engine that is started with them. */
  readonly needRestart: readonly string[];
}

/** Entries of the audit that nobody will read. */
export interface AuditDrop {
  readonly dropped: number;
  /** When the first of them was, in ISO 8601. */
  readonly since: string;
}

export interface CallEvent {
  readonly callId: string;
  readonly tool: string;
  readonly tenant: string;
  /** The call on whose behalf it was made, where a tool called it. */
  readonly parentId?: string;
  readonly result: ToolResult;
}

export type EventName = keyof EventMap;
export type Listener<Name extends EventName> = (...args: EventMap[Name]) => void;

/** A name with what belongs to it. */
type Told = { [Name in EventName]: [name: Name, ...args: EventMap[Name]] }[EventName];

/** What doors tell of. */
export type RefusedRequest = Extract<Told, readonly [`door:${string}` | `key:${string}`, ...unknown[]]>;

type AnyListener = (...args: unknown[]) => void;

/** The engine's events. A listener that throws harms neither the call nor the other listeners. */
export class Events {
  /** Lists are replaced and never changed, so that one can be walked while listeners come and go. */
  readonly #listeners = new Map<EventName, readonly AnyListener[]>();

  on<Name extends EventName>(name: Name, listener: Listener<Name>): void {
    this.#listeners.set(name, [...(this.#listeners.get(name) ?? []), listener as AnyListener]);
  }

  off<Name extends EventName>(name: Name, listener: Listener<Name>): void {
    const left = [...(this.#listeners.get(name) ?? [])];
    const at = left.lastIndexOf(listener as AnyListener);
    if (at < 0) return;
    left.splice(at, 1);
    this.#listeners.set(name, left);
  }

  /** Whether anybody listens: events of the hot path are only made where somebody does. */
  has(name: EventName): boolean {
    return (this.#listeners.get(name)?.length ?? 0) > 0;
  }

  emit(...[name, ...args]: Told): void {
    const listeners = this.#listeners.get(name);
    if (listeners === undefined) return;
    for (const listener of listeners) {
      try {
        listener(...args);
      } catch (error) {
        // As Node does with an error nobody handles, but not in the middle of somebody's call.
        queueMicrotask(() => {
          process.emitWarning(error instanceof Error ? error : new Error(String(error)), "GloveboxListenerWarning");
        });
      }
    }
  }
}
