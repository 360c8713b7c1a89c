import type { LoginReport } from "../../base/connector-report.ts";
import type { CapabilityEvent } from "../../broker/capability-event.ts";
import type { SecretViolation } from "../../broker/capabilities/secrets/placeholders.ts";
import type { Finding } from "../../broker/grants.ts";
import type { CallDrop } from "../../store/calls/call-store.ts";
import type { CallsDown, CallsUp } from "../../store/calls/outage-report.ts";
import type { ErrorCode } from "../../base/errors.ts";
import type { CutLimit } from "../../base/limits.ts";
import type { ExecutorEvents } from "../../executor/executor.ts";
import { type ClockJump, onClockJump } from "../../base/os/clock-jumps.ts";
import { onPressure, type Pressure } from "../../base/os/pressure.ts";
import type { Throttling } from "../../base/host-work-queue.ts";
import type { OmittedTool } from "../../tool/load.ts";
import type { PackageEvent } from "../../tool/package/step.ts";
import type { ProgramProblem } from "../../tool/program/problem.ts";
import type { ToolInfo } from "../../tool/definition.ts";
import type { AnyTools, InputOf, OutputOf, ToolName } from "../../tool/register.ts";
import type { ToolCall, ToolFailure, ToolResult, ToolSuccess } from "../../base/result.ts";
import type {
  CancelEvent,
  DecideEvent,
  DoubtEvent,
  NotifyEvent,
  PauseEvent,
  ResumeEvent,
  SettleEvent,
  SignalEvent,
  SnippetEvent,
  SnippetSaveEvent,
  UndoneEvent,
} from "./durable-events.ts";

/** The events of the calls of each tool: a known `tool` determines the type of the call or the result. */
type EachTool<Tools> = {
  readonly [Name in ToolName<Tools>]: {
    readonly pre: PreEvent<Name, InputOf<Tools, Name>>;
    readonly post: CallEvent<Name, ToolSuccess<OutputOf<Tools, Name>>>;
    readonly error: CallEvent<Name, ToolFailure>;
  };
}[ToolName<Tools>];

/** Events of an engine by name, with the arguments of their listeners. */
export interface EventMap<Tools = AnyTools> extends ExecutorEvents {
  /** A valid call is about to be queued; a listener may block it. */
  "tool:pre": [event: EachTool<Tools>["pre"]];
  /** A call succeeded. */
  "tool:post": [event: EachTool<Tools>["post"]];
  /** A call failed, whether it ran or not. */
  "tool:error": [event: EachTool<Tools>["error"]];
  /**
   * The work of a call ended after its answer: a cancelled call, or one at its wall limit, is answered at once, and its
   * slot and its charge end with its turn. `cpuMs` is the processor time that is not in its result.
   */
  "tool:late": [event: LateEvent];
  /** A program of code mode was checked, before its run or without one. */
  "program:check": [event: ProgramCheck];
  /** A call waits, and is kept: nothing of it runs. It has no `tool:post` or `tool:error` before it has ended. */
  "call:pause": [event: PauseEvent];
  /** A call continues after a wait. `outcome`: `resumed`, or the code of the error with which it has ended. */
  "call:resume": [event: ResumeEvent];
  /** A wait of a call was settled, and the call has received that. */
  "call:settle": [event: SettleEvent];
  /** The process of a call was lost while an effect was under way: a person has to say whether it happened. */
  "call:doubt": [event: DoubtEvent];
  /** A wait of a call was decided. `key`: the name of the key; `actor`: the name from the deciding application. */
  "call:decide": [event: DecideEvent];
  /** A signal was sent to a call that waits, or will. */
  "call:signal": [event: SignalEvent];
  /** A waiting call was cancelled. */
  "call:cancel": [event: CancelEvent];
  /** The undoing of a call's tool calls was requested. */
  "call:undo": [event: CancelEvent];
  /** The tool calls of a call were undone, or could not be. `id`: of the undone call. */
  "call:undone": [event: UndoneEvent];
  /** A target of `calls.notify` was notified of a call, or could not be. */
  "call:notify": [event: NotifyEvent];
  /** A program was made a tool of a tenant, or such a tool was removed. */
  "snippet:save": [event: SnippetSaveEvent];
  "snippet:delete": [event: SnippetEvent];
  /** A tool made a capability call, and got its response. */
  "capability:call": [event: CapabilityEvent];
  /** A request was refused that would have carried a secret to an origin, or in a place, that is not bound to it. */
  "secret:violation": [event: SecretViolation];
  /**
   * The broker thread or process ended: capability calls under way failed. The next call that needs it starts another
   * one. Calls that have used it continue, but cannot be repeated if they lose their executor, too.
   */
  "broker:lost": [event: { readonly reason: string }];
  /**
   * The machine is short of processor time or memory, or no longer is: builds of tools that keys register and new spare
   * processes wait for the processor, and idle isolates are ended for memory. Only if a service watches it.
   */
  "host:pressure": [event: Pressure];
  /**
   * The system's clock jumped by a second or more: what is kept until a time of it, such as idempotency keys, entries of
   * kv and waits, ends early or late by as much. Only if a service watches it.
   */
  "clock:jump": [event: ClockJump];
  /** The host delays a tenant's capability calls, because they use more than its share; at most once per second. */
  "tenant:throttled": [event: Throttling];
  /**
   * Entries of the audit cannot be written: reported after a second, and then with growing pauses, up to five minutes,
   * while it lasts. They wait in memory, 10,000 of them.
   */
  "audit:down": [event: AuditDown];
  /** Entries of the audit can be written again. */
  "audit:up": [event: { readonly downMs: number }];
  /** The audit dropped entries because its buffer was full; emitted several times a second at most. */
  "audit:drop": [event: AuditDrop];
  /** The store of calls dropped calls that it could not write in time; emitted several times a second at most. */
  "calls:drop": [event: CallDrop];
  /**
   * The store of calls in a file cannot be used: reported after a second, and then with growing pauses, up to five
   * minutes, while it lasts. For a store in Redis, see `redis:down`.
   */
  "calls:down": [event: CallsDown];
  /** The store of calls in a file can be used again. */
  "calls:up": [event: CallsUp];
  /** The store of calls began another file: the old one was damaged, and is kept beside it, or was missing. */
  "calls:renew": [event: { readonly reason: "corrupt" | "gone" }];
  /**
   * A tool was registered. `findings`: capabilities it requests that the policy grants to no tenant. `cut`: limits that
   * it declares above `maxLimits`.
   */
  "tool:register": [
    event: {
      readonly info: ToolInfo;
      readonly replaced: boolean;
      readonly findings: readonly Finding[];
      readonly cut: readonly CutLimit[];
    },
  ];
  /** A tool of a module was left out, because it could not be called; the module's others are registered. */
  "tool:omit": [event: OmittedTool];
  /** A tool was removed. `tenant`: its owner. */
  "tool:unregister": [event: { readonly name: string; readonly tenant?: string }];
  /** A step of loading a package ended: fetch, unpack, install dependencies, or evaluate. */
  "package:step": [event: PackageEvent];
  /** A request was refused before it became a call, because of its key, address, role or rate. */
  "request:refused": [event: RequestRefusal];
  /** A request was answered with 500: neither its caller nor a tool is to blame. */
  "request:failed": [event: RequestFailure];
  /** @deprecated Alias of `request:refused`; removed in the next release. Every listener gets the event once, under either name. */
  "door:refuse": [event: RequestRefusal];
  /** A call made with a key ended. */
  "key:call": [event: { readonly key: string; readonly code: ErrorCode | "ok" }];
  /** A call made with a key, or one of its child calls, used processor time. */
  "key:cpu": [event: { readonly key: string; readonly cpuMs: number }];
  /** A connector's server can be called, and its tools were read. */
  "connector:up": [event: { readonly connector: string; readonly tools: number }];
  /** A connector's server cannot be reached. It is retried after 1 s, and then up to every 60 s. */
  "connector:down": [event: { readonly connector: string; readonly reason: string }];
  /** A connector's login is ready, needed or failing, or its token was renewed. */
  "connector:login": [event: LoginReport];
  /** A connector's server has other tools than before. */
  "connector:change": [event: ConnectorChange];
  /** The engine was reconfigured. */
  "engine:reconfigure": [event: Reconfigured];
  /**
   * A service has read its configuration again, after SIGHUP or a change that it watches. `isApplied: false`: the new
   * one had a mistake, and the former one stays in force; `reason` may quote the new one.
   */
  "config:reload": [event: ConfigReload];
  /** The engine began to close and accepts no more calls. */
  "engine:close": [];
  /** A listener threw, or the promise that it returned rejected. The call and the other listeners are not affected. */
  "listener:error": [event: ListenerError];
}

/** The check of a program. */
export interface ProgramCheck {
  /** Absent if the program is only checked. */
  readonly callId?: string;
  readonly tenant: string;
  /** `accepted`: its types are right. `rejected`: it has mistakes. `unchecked`: its types could not be checked. */
  readonly outcome: "accepted" | "rejected" | "unchecked";
  /** The mistakes of a rejected program. Their texts quote it. */
  readonly problems: readonly ProgramProblem[];
  /** The reason for which it was not checked. */
  readonly reason?: string;
  readonly durationMs: number;
}

/** The end of work that outlasted its call's answer. */
export interface LateEvent {
  readonly callId: string;
  readonly tool: string;
  readonly tenant: string;
  /** The id of the calling call, if a tool made this call. */
  readonly parentId?: string;
  /** Processor time of the attempt, in milliseconds; 0 if its worker was lost. */
  readonly cpuMs: number;
}

/** A failure of a listener: the embedder's code, not a tool's. */
export interface ListenerError {
  /** The name of its event, or of the call option that held it, such as `onLog`. */
  readonly listener: string;
  readonly error: unknown;
}

export interface PreEvent<Name extends string = string, Input = Record<string, unknown>> {
  readonly callId: string;
  readonly tool: Name;
  readonly tenant: string;
  /** The id of the calling call, if a tool made this call. */
  readonly parentId?: string;
  readonly call: ToolCall<Name, Input>;
  /** Blocks the call: it ends with the error `blocked` and this reason. */
  block(reason: string): void;
  /** Runs the call with these arguments, which the tool's schema checks, too. The last replacement counts. */
  replaceArguments(args: Record<string, unknown>): void;
  /**
   * Holds the call, before it is queued, until the promise settles: at most its `wallMs`, and as many calls at once as
   * may be queued. A promise that rejects or is late blocks the call.
   */
  waitFor(decision: PromiseLike<unknown>): void;
  /** Requests a decision of a person on the call, which is kept meanwhile. `reason`: the text for the person. */
  requireApproval(reason: string): void;
}

/** A refused request. It never contains the key that the request sent. */
export interface RequestRefusal {
  readonly code: Extract<ErrorCode, "unauthorized" | "forbidden" | "rate_limited">;
  /** The name of the key; `null` without a known key. */
  readonly key: string | null;
  /** The address of the client; `null` if unknown. */
  readonly address: string | null;
  readonly reason: string;
}

/** A request whose handler failed. For the operator: the client gets no details. */
export interface RequestFailure {
  readonly method: string;
  /** Pattern of its address, such as `/v1/tools/:name`. */
  readonly route: string;
  /** Message of the error. */
  readonly reason: string;
  /** Stack of the error, without its message. */
  readonly stack: string;
}

/** The changes that a reconfiguration made. */
export interface Reconfigured {
  /** Names of tools that were added, replaced and removed. */
  readonly registered: readonly string[];
  readonly replaced: readonly string[];
  readonly removed: readonly string[];
  readonly isPolicyChanged: boolean;
  /** Limits of calls, or of the queue. */
  readonly areLimitsChanged: boolean;
  /** Changed options that take effect only in a newly started engine. */
  readonly needRestart: readonly string[];
}

/** A reload of a service's configuration. */
export interface ConfigReload {
  readonly isApplied: boolean;
  /** The reason for which it was not applied. */
  readonly reason?: string;
}

/** Differences of a connector's tools to those that were registered, by name. */
export interface ConnectorChange {
  readonly connector: string;
  /** Digest of the new list, for the connector's `pin`. */
  readonly digest: string;
  /** Whether the new list is registered; otherwise its `pin` names another one, and the old tools stay. */
  readonly isTaken: boolean;
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly changed: readonly string[];
}

export interface AuditDown {
  /** The system's code: `ENOSPC` for a full disk, `EAGAIN` for a pipe without a reader. */
  readonly code: string;
  readonly downMs: number;
}

/** Audit entries that were dropped. */
export interface AuditDrop {
  readonly dropped: number;
  /** Time of the first of them, in ISO 8601. */
  readonly since: string;
}

export interface CallEvent<Name extends string = string, Result extends ToolResult = ToolResult> {
  readonly callId: string;
  readonly tool: Name;
  readonly tenant: string;
  /** The id of the calling call, if a tool made this call. */
  readonly parentId?: string;
  readonly result: Result;
}

/** The event of a call's end. */
export function endOf<Result extends ToolResult>(
  result: Result,
  tenant: string,
  parentId: string | undefined,
): CallEvent<string, Result> {
  const { callId, tool } = result.metadata;
  // Most calls have no parent: a spread would cost as much as the rest of the event.
  return parentId === undefined ? { callId, tool, tenant, result } : { callId, tool, tenant, parentId, result };
}

export type EventName = keyof EventMap;
export type Listener<Name extends EventName> = (...args: EventMap[Name]) => unknown;

/** Old names of events, which listeners may still use. */
const ALIASES = { "door:refuse": "request:refused" } as const satisfies Partial<Record<EventName, EventName>>;

type EmittedName = Exclude<EventName, keyof typeof ALIASES>;

/** An event's name with its arguments. */
type Emission = { [Name in EmittedName]: [name: Name, ...args: EventMap[Name]] }[EmittedName];

/** The events that surfaces emit. */
export type SurfaceEvent = Extract<
  Emission,
  readonly [`request:${string}` | `key:${string}` | `program:${string}` | `config:${string}`, ...unknown[]]
>;

type AnyListener = (event?: unknown) => unknown;

/** The engine's events. A listener that throws or rejects harms neither the call nor the other listeners. */
export class Events {
  /** Arrays are replaced, never changed, so that one can be iterated while listeners are added and removed. */
  readonly #listeners = new Map<EmittedName, readonly AnyListener[]>();
  /** Numbers of listeners of the engine's own. */
  readonly #own = new Map<EmittedName, number>();

  on<Name extends EventName>(name: Name, listener: Listener<Name>): void {
    const known = currentName(name);
    this.#listeners.set(known, [...(this.#listeners.get(known) ?? []), listener as AnyListener]);
  }

  off<Name extends EventName>(name: Name, listener: Listener<Name>): void {
    const known = currentName(name);
    const left = [...(this.#listeners.get(known) ?? [])];
    const at = left.lastIndexOf(listener as AnyListener);
    if (at < 0) return;
    left.splice(at, 1);
    this.#listeners.set(known, left);
  }

  /** Marks the listeners so far as the engine's own. */
  markOwn(): void {
    for (const [name, listeners] of this.#listeners) this.#own.set(name, listeners.length);
  }

  /** Whether the event has listeners other than the engine's. */
  isHeard(name: EmittedName): boolean {
    return (this.#listeners.get(name)?.length ?? 0) > (this.#own.get(name) ?? 0);
  }

  /** Whether the event has listeners: on the hot path, events are made only for listeners. */
  has(name: EmittedName): boolean {
    return (this.#listeners.get(name)?.length ?? 0) > 0;
  }

  emit(...emission: Emission): void;
  emit(name: EmittedName, event?: unknown): void {
    const listeners = this.#listeners.get(name);
    if (listeners === undefined) return;
    for (const listener of listeners) this.call(name, listener, event);
  }

  /** Calls a listener, of an event or of a call's option. Its failure is reported, and affects no others. */
  call(name: string, listener: AnyListener, event?: unknown): void {
    try {
      const returned = listener(event);
      if (returned instanceof Promise) returned.catch((error: unknown) => this.reportListener(name, error));
    } catch (error) {
      this.reportListener(name, error);
    }
  }

  /** Reports a listener's failure, outside the call. Without a listener for failures it becomes a process warning. */
  reportListener(listener: string, error: unknown): void {
    queueMicrotask(() => {
      if (listener !== "listener:error" && this.has("listener:error")) this.emit("listener:error", { listener, error });
      else process.emitWarning(error instanceof Error ? error : new Error(String(error)), "GloveboxListenerWarning");
    });
  }
}

function currentName(name: EventName): EmittedName {
  return name === "door:refuse" ? ALIASES[name] : name;
}

/** Reports what this process hears of its machine. */
export function hearMachine(events: Events): Disposable {
  const heard = new DisposableStack();
  heard.use(onPressure((event) => events.emit("host:pressure", event)));
  heard.use(onClockJump((event) => events.emit("clock:jump", event)));
  return heard;
}
