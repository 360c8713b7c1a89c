import { HostWorkQueue, type WorkPayer } from "../../base/host-work-queue.ts";
import { type Capability, LoginRequired, type OpenCall, type OpenCapability } from "../capabilities/capability.ts";
import { type BegunMethod, type EndedMethod, MethodCaller } from "../method-call.ts";
import type { EnginePort } from "./engine-port.ts";
import type { RemoteServers } from "../capabilities/connector/connector.ts";
import type { SessionToolCall } from "../capabilities/connector/route.ts";
import type { FromThread, MethodRequest, SessionOpening, SessionToolEnd, ToThread } from "./messages.ts";
import { Outbox } from "./outbox.ts";

/** Time between two messages about a tenant's backlog, in milliseconds. */
const BACKLOG_EVERY_MS = 250;
const ENDED = new DOMException("the call has ended", "AbortError");
const CALL_ENDED: EndedMethod = {
  kind: "ended",
  effects: 0,
  outcome: { kind: "failed", message: "the call has ended" },
};

/** The use of one capability by one call. The time it takes is told with the next messages. */
class ServedSession implements WorkPayer {
  readonly tenant: string;
  readonly abort = new AbortController();
  readonly #opening: SessionOpening;
  readonly #capability: Capability;
  readonly #work: HostWorkQueue;
  readonly #charged: Set<ServedSession>;
  #opened: OpenCapability | null = null;
  /** Number of its methods that run. */
  #running = 0;
  /** Number of its methods that have run since its time was told, and the time that was measured of them. */
  methods = 0;
  spentMs = 0;

  /** `charged`: the sessions whose time is to be told: those that were at work since it was. */
  constructor(opening: SessionOpening, capability: Capability, work: HostWorkQueue, charged: Set<ServedSession>) {
    this.#charged = charged;
    this.tenant = opening.tenant;
    this.#opening = opening;
    this.#capability = capability;
    this.#work = work;
  }

  get number(): number {
    return this.#opening.session;
  }

  get capability(): Capability {
    return this.#capability;
  }

  spendMain(ms: number): void {
    this.spentMs += ms;
    this.#charged.add(this);
  }

  begin(): void {
    this.#running++;
    this.methods++;
    this.#charged.add(this);
  }

  end(): void {
    this.#running--;
  }

  /** Its time was told. Returns whether it is not at work now. */
  forgetTime(): boolean {
    this.spentMs = 0;
    this.methods = this.#running;
    return this.#running === 0;
  }

  open(): OpenCapability {
    return (this.#opened ??= this.#capability.open(this.#call(), this.#opening.grants));
  }

  async close(): Promise<void> {
    this.abort.abort(ENDED);
    await this.#opened?.close?.();
  }

  #call(): OpenCall {
    const { callId, tool, tenant, secrets, binary, remote } = this.#opening;
    const { signal } = this.abort;
    return {
      callId,
      tool,
      signal,
      onHost: (task) => this.#work.run(this, task),
      grantsOf: (name) => (name === "secrets" ? secrets : []),
      callTool: () => Promise.reject(new Error("only the embedder's thread calls tools")),
      ...(tenant === "" ? {} : { tenant }),
      ...(binary === null ? {} : { binary }),
      ...(remote === null ? {} : { remote }),
    };
  }
}

/** Parts of the thread. */
export interface ThreadParts {
  readonly capabilities: readonly Capability[];
  /** The servers of connectors. */
  readonly servers: Pick<RemoteServers, "use">;
}

/** The broker thread's side: carries out methods of capabilities, fair by tenant in measured time. */
export class ThreadServer {
  readonly #capabilities: ReadonlyMap<string, Capability>;
  readonly #sessions = new Map<number, ServedSession>();
  readonly #charged = new Set<ServedSession>();
  readonly #lookups = new Map<number, (addresses: readonly string[] | null) => void>();
  readonly #toolCalls = new Map<number, (end: SessionToolEnd) => void>();
  readonly #outbox: Outbox<FromThread>;
  readonly #work = new HostWorkQueue({
    onThrottled: (throttling) => this.#outbox.push({ kind: "throttled", throttling }),
  });
  readonly #methods = new MethodCaller(this.#work);
  readonly #port: EnginePort;
  /** Processor time of the thread that has been told; its start is nobody's. */
  #toldMs = threadMs();
  /** Tenants whose requests wait. */
  readonly #waiting = new Set<string>();
  #backlogTimer: NodeJS.Timeout | null = null;
  #lastLookup = 0;
  #lastToolCall = 0;
  readonly #servers: Pick<RemoteServers, "use">;

  constructor(port: EnginePort, createParts: (server: ThreadServer) => ThreadParts) {
    this.#port = port;
    this.#outbox = new Outbox((messages) => port.post(this.#withTimes(messages)));
    const { capabilities, servers } = createParts(this);
    this.#capabilities = new Map(capabilities.map((each) => [each.name, each]));
    this.#servers = servers;
  }

  receive(messages: readonly ToThread[]): void {
    for (const message of messages) this.#receive(message);
  }

  tell(message: FromThread): void {
    this.#outbox.push(message);
  }

  /** Asks the embedder for the addresses of a host name. */
  lookup(hostname: string): Promise<readonly string[]> {
    const lookup = ++this.#lastLookup;
    this.#outbox.push({ kind: "lookup", lookup, hostname });
    return new Promise((resolve, reject) => {
      this.#lookups.set(lookup, (addresses) => {
        if (addresses === null) reject(new Error("the name could not be resolved"));
        else resolve(addresses);
      });
    });
  }

  /** Calls a tool of a connector's session, which the engine's thread holds. */
  callTool(call: SessionToolCall, signal: AbortSignal): Promise<string> {
    const request = ++this.#lastToolCall;
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    const onAbort = (): void => {
      this.#toolCalls.delete(request);
      this.#outbox.push({ kind: "untell", request });
      reject(signal.reason as Error);
    };
    signal.addEventListener("abort", onAbort, { once: true });
    this.#toolCalls.set(request, (end) => {
      signal.removeEventListener("abort", onAbort);
      if (end.kind === "answer") resolve(end.text);
      else reject(end.needsLogin ? new LoginRequired(end.message) : new Error(end.message));
    });
    this.#outbox.push({ kind: "tool", request, ...call });
    return promise;
  }

  #receive(message: ToThread): void {
    switch (message.kind) {
      case "open": {
        const capability = this.#capabilities.get(message.capability);
        if (capability === undefined) throw new TypeError(`the thread has no capability "${message.capability}"`);
        this.#sessions.set(message.session, new ServedSession(message, capability, this.#work, this.#charged));
        return;
      }
      case "request":
        return void this.#carryOut(message);
      case "end":
        return void this.#release(message.session);
      case "resolved": {
        this.#lookups.get(message.lookup)?.(message.addresses);
        this.#lookups.delete(message.lookup);
        return;
      }
      case "routes":
        return this.#servers.use(message.routes);
      case "told": {
        this.#toolCalls.get(message.request)?.(message.end);
        this.#toolCalls.delete(message.request);
        return;
      }
      case "close":
        return void this.#close();
    }
  }

  async #carryOut({ session: number, request, method, label, args }: MethodRequest): Promise<void> {
    const session = this.#sessions.get(number);
    if (session === undefined) return this.#outbox.push({ kind: "response", request, end: CALL_ENDED });
    const call = { capability: session.capability, method, label, args, open: () => session.open() };
    const begin = (): BegunMethod => (session.abort.signal.aborted ? CALL_ENDED : this.#methods.begin(call, session));
    const turn = this.#methods.inTurn(begin, session);
    if (turn instanceof Promise) this.#watchBacklog(session.tenant);
    const begun = await turn;
    session.begin();
    const end = begun.kind === "running" ? await begun.end : begun;
    session.end();
    this.#outbox.push({ kind: "response", request, end });
  }

  async #release(number: number): Promise<void> {
    const session = this.#sessions.get(number);
    if (session === undefined) return;
    try {
      await session.close();
    } catch {
      // The call has ended, so nothing can report the error.
    }
    this.#sessions.delete(number);
    this.#outbox.pushLater({ kind: "released", session: number });
  }

  /**
   * Adds all of the thread's time since the last messages. Most of what a request costs lies between the pieces that are
   * measured, in sockets and streams: that is shared out by the number of methods that ran.
   */
  #withTimes(messages: readonly FromThread[]): readonly FromThread[] {
    const sessions = [...this.#charged];
    if (sessions.length === 0) return messages;
    const nowMs = threadMs();
    const usedMs = nowMs - this.#toldMs;
    this.#toldMs = nowMs;
    const measuredMs = sessions.reduce((sum, { spentMs }) => sum + spentMs, 0);
    const methods = sessions.reduce((sum, { methods: own }) => sum + own, 0);
    // On a busy machine the measured pieces contain time in which another thread ran.
    const factor = Math.min(1, usedMs / measuredMs) || 0;
    const eachMs = Math.max(0, usedMs - measuredMs) / Math.max(1, methods);
    const times = sessions.map((session): FromThread => {
      const ms = session.spentMs * factor + session.methods * eachMs;
      if (session.forgetTime()) this.#charged.delete(session);
      return { kind: "spent", session: session.number, ms };
    });
    return [...times, ...messages];
  }

  #watchBacklog(tenant: string): void {
    this.#waiting.add(tenant);
    this.#backlogTimer ??= setTimeout(() => this.#tellBacklogs(), BACKLOG_EVERY_MS);
  }

  #tellBacklogs(): void {
    this.#backlogTimer = null;
    for (const tenant of this.#waiting) {
      const ms = this.#work.backlogMs(tenant);
      if (ms === 0) this.#waiting.delete(tenant);
      else this.#watchBacklog(tenant);
      this.#outbox.push({ kind: "backlog", tenant, ms });
    }
  }

  async #close(): Promise<void> {
    if (this.#backlogTimer !== null) clearTimeout(this.#backlogTimer);
    for (const session of this.#sessions.values()) session.abort.abort(ENDED);
    await Promise.allSettled([...this.#capabilities.values()].map(async (each) => each.close?.()));
    this.#outbox.flush();
    this.#port.close();
  }
}

/** Processor time of this thread, in milliseconds. */
function threadMs(): number {
  // Makes the kernel update the times of all threads: otherwise a thread's own moves with the kernel's tick.
  process.cpuUsage();
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}
