import { delegation } from "../../base/os/cgroup.ts";
import { within } from "../../base/deadline.ts";
import { HostWorkQueue, type Throttling } from "../../base/host-work-queue.ts";
import { TenantAccounts } from "../../base/tenant-account.ts";
import { Broker } from "../broker.ts";
import type { EngineCapabilities } from "../capabilities/built-in.ts";
import { type CallBinary, type Capability, type CapabilityRequest, LoginRequired } from "../capabilities/capability.ts";
import type { EngineSide, ModuleCapability } from "../capabilities/module-capability.ts";
import type { Lookup } from "../capabilities/fetch/lookups.ts";
import type { BinaryFiles, HeldBinary } from "../binaries.ts";
import type { SecretViolation } from "../capabilities/secrets/placeholders.ts";
import type { CapabilityDetails, CapabilityEvent } from "../capability-event.ts";
import { Grants } from "../grants.ts";
import { MethodCaller, messageOf } from "../method-call.ts";
import type { Policy } from "../policy.ts";
import type { AskPipes, ConnectedPipe } from "./ask-pipe.ts";
import { shapeOf } from "./host-capability.ts";
import { type EngineSession, type HostedCall, HostSession, type SessionHost } from "./host-session.ts";
import { LocalSession } from "./local-session.ts";
import type { FromThread, ThreadSettings, ToldOutcome } from "./messages.ts";
import type { BrokerPlace, StartServer } from "./start.ts";
import { ThreadRun } from "./thread-run.ts";

const ALLOWS_NOTHING: Policy = { rules: [] };
const CLOSE_MS = 3_000;
const RESTART_MS = 1_000;
/** Longest wait for the broker at the start of an executor, in milliseconds. Without it, its workers have no pipes. */
const PIPES_MS = 10_000;

export interface BrokerClientOptions {
  readonly capabilities: EngineCapabilities;
  readonly policy: Policy;
  readonly binaries: BinaryFiles;
  /** Default: a thread. */
  readonly place?: BrokerPlace;
  /** Starts the broker in its place. Default: a thread or a process of Node. */
  readonly start?: StartServer;
  readonly settings: Omit<ThreadSettings, "hasLookup" | "groups" | "modules" | "host">;
  readonly lookup: Lookup | undefined;
  /** Capabilities of packages. Default: none. */
  readonly modules?: readonly ModuleCapability[];
  readonly onOutcome: (event: CapabilityEvent) => void;
  readonly onViolation: (violation: SecretViolation) => void;
  readonly onThrottled: (throttling: Throttling) => void;
  /** Minimum time between two starts of the thread, in milliseconds. Default: 1,000. */
  readonly restartMs?: number;
  /** Called when it has died. The next call that needs it starts another. */
  readonly onDeath: (error: Error) => void;
}

/**
 * The broker, as the engine's thread has it. The broker itself is a thread that starts with the first call that needs
 * it: it holds the sessions of calls, decides, and carries out all but the handlers of this thread. The thread is no
 * crash boundary, so its input is bounded before it is parsed; a process is one.
 */
export class BrokerClient implements SessionHost, AskPipes {
  /** Accounts of the host's work for tenants. The broker checks the limits, by accounts of its own. */
  readonly accounts = new TenantAccounts();
  /** Order of this thread's work for calls. */
  readonly work: HostWorkQueue;
  readonly methods: MethodCaller;
  /** All capabilities, and those whose handlers are closures of this thread. */
  readonly capabilities: ReadonlyMap<string, Capability>;
  readonly handlers: ReadonlyMap<string, Capability>;
  readonly #options: BrokerClientOptions;
  /** Sessions of calls that use nothing but handlers of this thread. */
  readonly #local: Broker;
  #grants: Grants;
  #isStarted = false;
  #current: ThreadRun | null = null;
  /** The engine's sides of packages' capabilities, and the states that they have set. */
  readonly #sides = new Map<string, EngineSide>();
  readonly #states = new Map<string, unknown>();
  /** Binaries of running calls. */
  readonly #held = new WeakMap<HostSession, HeldBinary>();
  #isClosed = false;
  #close: Promise<void> | null = null;

  /** Throws a `TypeError` if the policy is invalid. */
  constructor(options: BrokerClientOptions) {
    const { broker, host } = options.capabilities;
    this.#options = options;
    this.work = new HostWorkQueue({ onThrottled: options.onThrottled });
    this.methods = new MethodCaller(this.work);
    this.handlers = new Map(host.map((capability) => [capability.name, capability]));
    this.capabilities = new Map([...broker, ...host].map((capability) => [capability.name, capability]));
    this.#grants = new Grants(this.capabilities, options.policy);
    this.#local = new Broker({
      capabilities: [...this.capabilities.values()],
      work: this.work,
      accounts: this.accounts,
      onOutcome: (event, caller, details) => recordLocally(event, caller as HostedCall, details, options.onOutcome),
    });
  }

  /**
   * Grants of the policy in force. Each policy has an object of its own, so that a call keeps the policy it began with.
   */
  get grants(): Grants {
    return this.#grants;
  }

  /** Makes the grants of another policy. Throws a `TypeError` if it is invalid. */
  grantsOf(policy: Policy): Grants {
    return new Grants(this.capabilities, policy);
  }

  /** Puts another policy in force for calls that begin from now on. */
  use(grants: Grants): void {
    this.#grants = grants;
    if (this.#isStarted) this.start();
  }

  /** Starts the thread if the policy allows anything, so that no call waits for it. */
  start(): void {
    this.#isStarted = true;
    if (this.#allowsAnything) this.#running();
  }

  async ready(): Promise<void> {
    const listening = this.#options.settings.listens ? this.#current?.pipes.ready() : undefined;
    if (listening !== undefined) await within(PIPES_MS, listening);
  }

  get areWanted(): boolean {
    return this.#allowsAnything && this.#current?.pipes.isListening === true;
  }

  get #allowsAnything(): boolean {
    return this.#grants.policy.rules.length > 0;
  }

  /** Binary of a call's tool, by the key of its script; `undefined` for a tool without one. */
  binaryOf(key: string, limits: CallBinary["limits"]): CallBinary | undefined {
    const file = this.#options.binaries.hashOf(key);
    return file === undefined ? undefined : { file, limits };
  }

  /** Number of calls with a session at the broker that runs now. */
  get openCalls(): number {
    return this.#current?.sessions.size ?? 0;
  }

  connect(): ConnectedPipe | null {
    return this.#current?.pipes.connect() ?? null;
  }

  channel(): ReturnType<AskPipes["channel"]> {
    return this.#current?.pipes.channel() ?? null;
  }

  /** Estimated time until a further capability call of the tenant would be carried out, in milliseconds. */
  backlogMs(tenant: string): number {
    return Math.max(this.work.backlogMs(tenant), this.#current?.backlogs.get(tenant) ?? 0);
  }

  /** Connects the engine's side of a package's capability. The function sets its state for calls that begin later. */
  join(capability: string, side: EngineSide): (state: unknown) => void {
    this.#sides.set(capability, side);
    return (state) => {
      this.#states.set(capability, state);
      this.#current?.outbox.push({ kind: "state", capability, state });
    };
  }

  /** Opens the session of a call. `grants`: those in force when the call began. */
  open(caller: HostedCall, grants: Grants = this.#grants): EngineSession {
    if (this.isOfHost(caller.requested)) return new LocalSession(this.#local, caller, grants);
    return new HostSession(this, caller, grants);
  }

  /** Whether calls that request this can be granted nothing but handlers of this thread. */
  isOfHost(requested: CapabilityRequest): boolean {
    for (const name in requested) if (this.capabilities.has(name) && !this.handlers.has(name)) return false;
    return true;
  }

  onOutcome(event: CapabilityEvent): void {
    this.#options.onOutcome(event);
  }

  readonly track = (closing: void | Promise<void>): void => this.#local.track(closing);

  startSession(session: HostSession): ThreadRun {
    const run = this.#running();
    if (run.isDead) return run;
    const { caller, grants } = session;
    const { callNumber, callId, parentId, tenant, narrowed, limits, isRecorded, isHeard, remote, version, own } =
      caller;
    const { tool, tags, registrant, digest, requested, logging, journal, keep, effectsId } = caller;
    const { policy } = grants;
    const shape = own === undefined || own.kind === "host" ? null : shapeOf(own, "whole");
    const { capabilityCalls, capabilityBytes, wallMs } = limits;
    run.sessions.set(callNumber, session);
    run.outbox.push({
      kind: "start",
      call: callNumber,
      callId,
      parentId,
      tool: run.numberOf("tool", version, (number) => ({
        kind: "tool",
        number,
        tool: { tool, tags, registrant, digest, requested: plain(requested, {}), own: shape },
      })),
      policy: run.numberOf("policy", grants, (number) => ({
        kind: "policy",
        number,
        policy: plain(policy, ALLOWS_NOTHING),
      })),
      tenant,
      narrowed: narrowed === undefined ? undefined : plain(narrowed, {}),
      limits: { capabilityCalls, capabilityBytes, ...(wallMs === undefined ? {} : { wallMs }) },
      isRecorded: isRecorded === true,
      journal,
      ...(keep === undefined ? {} : { keeps: keep.append === undefined ? "nothing" : "journal" }),
      effectsId,
      isHeard: isHeard === true,
      logging,
      binary: this.#hold(session),
      remote,
    });
    return run;
  }

  /** The binary of the call's tool, by its path. `undefined` if it has been removed: the broker refuses its run. */
  #hold(session: HostSession): CallBinary | undefined {
    const { binary } = session.caller;
    if (binary === undefined) return undefined;
    try {
      const held = this.#options.binaries.hold(binary.file);
      this.#held.set(session, held);
      return { ...binary, file: held.path };
    } catch {
      return undefined;
    }
  }

  forget(session: HostSession): void {
    const sessions = this.#current?.sessions;
    if (sessions?.get(session.callNumber) === session) sessions.delete(session.callNumber);
    this.#held.get(session)?.[Symbol.dispose]();
    this.#held.delete(session);
  }

  /** Resolves when all ended calls have released their resources and the broker has ended, or after some seconds. */
  close(): Promise<void> {
    this.#isClosed = true;
    return (this.#close ??= this.#end());
  }

  async #end(): Promise<void> {
    await within(CLOSE_MS, this.#local.released());
    const run = this.#current;
    if (run !== null && !run.isDead) {
      run.outbox.push({ kind: "close" });
      run.outbox.flush();
      await within(CLOSE_MS, run.ended.promise);
      await within(CLOSE_MS, run.server.terminate());
    }
    await this.#options.binaries.close();
  }

  #running(): ThreadRun {
    const current = this.#current;
    if (current !== null && (!current.isDead || !this.#mayRestart(current))) return current;
    const { place = "thread", settings, lookup, modules: brought = [], start } = this.#options;
    const delegated = delegation();
    const groups = delegated?.kind === "delegated" ? delegated.directory : null;
    const host = [...this.handlers.values()].map((each) => shapeOf(each, each.name === "tools" ? "names" : "whole"));
    const modules = brought.map(({ name, module }) => ({ name, module: module.href, state: this.#states.get(name) }));
    const more = { hasLookup: lookup !== undefined, groups, modules, host };
    return (this.#current = new ThreadRun(place, { ...settings, ...more }, this.#listener, start));
  }

  readonly #listener = {
    onMessage: (run: ThreadRun, message: FromThread): void => this.#receive(run, message),
    onDeath: (run: ThreadRun, error: Error): void => this.#onDeath(run, error),
  };

  /** Whether another thread may take the place of a dead one, whose requests fail. */
  #mayRestart({ startedMs }: ThreadRun): boolean {
    const { restartMs = RESTART_MS } = this.#options;
    return !this.#isClosed && performance.now() >= startedMs + restartMs;
  }

  #receive(run: ThreadRun, message: FromThread): void {
    switch (message.kind) {
      case "response":
      case "planned":
      case "snapshot":
      case "spent":
      case "ended":
      case "kept":
        return run.sessions.get(message.call)?.receive(message);
      case "listening":
      case "who":
      case "diverged":
      case "broken":
        return run.pipes.receive(message);
      case "outcome":
        return this.#record(run, message);
      case "append":
        return run.sessions.get(message.call)?.caller.keep?.append?.(message.part);
      case "announce":
        return void run.sessions.get(message.call)?.announce(message);
      case "handle": {
        const { request } = message;
        const respond: Parameters<HostSession["handle"]>[1] = (end) =>
          run.outbox.push({ kind: "handled", request, end });
        return run.sessions.get(message.call)?.handle(message, respond);
      }
      case "backlog":
        if (message.ms === 0) run.backlogs.delete(message.tenant);
        else run.backlogs.set(message.tenant, message.ms);
        return;
      case "lookup":
        return void this.#resolve(run, message.lookup, message.hostname);
      case "question":
        return void this.#answer(run, message);
      case "unask":
        return run.questions.get(message.request)?.abort();
      case "violation":
        return this.#options.onViolation(message.violation);
      case "report":
        return this.#sides.get(message.capability)?.onReport(message.report);
      case "throttled":
        return this.#options.onThrottled(message.throttling);
    }
  }

  #record(run: ThreadRun, outcome: ToldOutcome): void {
    const { of, record, call } = outcome;
    if (of === null) return run.sessions.get(call)?.record(outcome);
    this.#options.onOutcome({ ...record, ...of, parentId: of.parentId });
  }

  async #resolve({ outbox }: ThreadRun, lookup: number, hostname: string): Promise<void> {
    const addresses = await Promise.try(async () => (await this.#options.lookup?.(hostname)) ?? null).catch(() => null);
    outbox.push({ kind: "resolved", lookup, addresses });
  }

  async #answer(
    { outbox, questions, sessions }: ThreadRun,
    { request, capability, question }: Extract<FromThread, { readonly kind: "question" }>,
  ): Promise<void> {
    const abort = new AbortController();
    questions.set(request, abort);
    const end = await Promise.try(() => {
      const side = this.#sides.get(capability);
      if (side === undefined) throw new Error(`nothing answers for the capability ${capability}`);
      return side.answer(question, abort.signal, (call) => sessions.get(call)?.caller.onProgress);
    }).then(
      (text) => ({ kind: "answer", text }) as const,
      (error: unknown) =>
        ({ kind: "failed", message: messageOf(error), needsLogin: error instanceof LoginRequired }) as const,
    );
    questions.delete(request);
    outbox.push({ kind: "answered", request, end });
  }

  #onDeath(run: ThreadRun, error: Error): void {
    if (run.isDead) return;
    run.isDead = true;
    run.ended.resolve();
    run.pipes.close();
    for (const session of run.sessions.values()) {
      this.forget(session);
      session.onDeath();
    }
    for (const abort of run.questions.values()) abort.abort();
    run.backlogs.clear();
    if (!this.#isClosed) this.#options.onDeath(error);
  }
}

/** Reports a capability call of a session of this thread. */
function recordLocally(
  event: CapabilityEvent,
  { trace, onOutcome }: HostedCall,
  { code, isContinuation = false }: CapabilityDetails,
  emit: (event: CapabilityEvent) => void,
): void {
  const tell = (): void => {
    emit(event);
    onOutcome?.(event);
  };
  if (trace === null) return tell();
  const atMs = performance.timeOrigin + performance.now();
  trace.record({ kind: "outcome", call: 0, of: null, record: event, isContinuation, code: code ?? null, atMs }, tell);
}

/** A value of the embedder's as data that can be sent: grants contain no functions. */
function plain<Value>(value: Value, otherwise: Value): Value {
  try {
    return structuredClone(value);
  } catch {
    return otherwise;
  }
}
