import { delegation } from "../../base/os/cgroup.ts";
import { within } from "../../base/deadline.ts";
import type { Throttling } from "../../base/host-work-queue.ts";
import type { HostAccount } from "../../base/tenant-account.ts";
import { type CallBinary, LoginRequired, type OpenCall } from "../capabilities/capability.ts";
import type { CallSessionTool, ConnectorRoute, SessionToolCall } from "../capabilities/connector/route.ts";
import type { Lookup } from "../capabilities/fetch/connections.ts";
import type { SecretViolation } from "../capabilities/secrets/placeholders.ts";
import type { LoginReport } from "../login/settings.ts";
import { type EndedMethod, messageOf } from "../method-call.ts";
import type { FromThread, ThreadSettings, ToThread } from "./messages.ts";
import { Outbox } from "./outbox.ts";
import { type BrokerPlace, type StartedServer, startServer } from "./start.ts";

const CLOSE_MS = 3_000;
const RESTART_MS = 1_000;

export interface BrokerThreadOptions {
  /** Default: a thread. */
  readonly place?: BrokerPlace;
  readonly settings: Omit<ThreadSettings, "hasLookup" | "groups" | "routes">;
  readonly lookup: Lookup | undefined;
  /** Calls a tool of a connector that has a session. */
  readonly callTool: CallSessionTool;
  readonly onViolation: (violation: SecretViolation) => void;
  readonly onLogin: (report: LoginReport) => void;
  readonly onThrottled: (throttling: Throttling) => void;
  /** A thread that ends sooner than this after its start is not started again before. Default: a second. */
  readonly restartMs?: number;
  /** It died; another starts with the next call that needs it. */
  readonly onDeath: (error: Error) => void;
}

/** A call's use of a capability on the thread. `run`: the start of the thread that serves it; a later one does not know it. */
interface ThreadSession {
  readonly number: number;
  readonly run: ThreadRun;
  readonly account: HostAccount;
  /** Number of its methods that have not ended. */
  pending: number;
  readonly released: PromiseWithResolvers<void>;
}

interface PendingRequest {
  readonly session: ThreadSession;
  readonly label: string;
  readonly effects: number;
  readonly respond: (end: EndedMethod) => void;
}

/** One start of the thread. */
interface ThreadRun {
  readonly server: StartedServer;
  readonly outbox: Outbox<ToThread>;
  readonly sessions: Map<number, ThreadSession>;
  readonly requests: Map<number, PendingRequest>;
  /** Estimated time until a further request of a tenant would run, in milliseconds, as the thread told it. */
  readonly backlogs: Map<string, number>;
  /** Calls of tools of sessions, by their requests. */
  readonly toolCalls: Map<number, AbortController>;
  readonly ended: PromiseWithResolvers<void>;
  readonly startedMs: number;
  isDead: boolean;
}

/**
 * The thread on which fetch, fs, exec, native and connector are carried out: it parses, checks and writes the bytes of tools, and
 * this one only passes them on. It starts with the first call that needs it. It is no crash boundary, so what it parses is
 * bounded before; as a process it is one.
 */
export class BrokerThread {
  readonly #options: BrokerThreadOptions;
  #current: ThreadRun | null = null;
  #lastNumber = 0;
  #routes: readonly ConnectorRoute[] = [];
  #isClosed = false;
  #closing: Promise<void> | null = null;

  constructor(options: BrokerThreadOptions) {
    this.#options = options;
  }

  /** Starts the thread, if it has not started. Otherwise the first call that needs it waits for it. */
  start(): void {
    this.#running();
  }

  /** Connectors from now on. */
  route(routes: readonly ConnectorRoute[]): void {
    this.#routes = routes;
    this.#current?.outbox.push({ kind: "routes", routes });
  }

  /** Estimated time until a further request of a tenant would run, in milliseconds. */
  backlogMs(tenant: string): number {
    return this.#current?.backlogs.get(tenant) ?? 0;
  }

  /** `binary`: that of the call's tool, by its path. */
  open(
    capability: string,
    call: OpenCall,
    grants: readonly unknown[],
    account: HostAccount,
    binary: CallBinary | null = null,
  ): ThreadSession {
    const run = this.#running();
    const session: ThreadSession = {
      number: ++this.#lastNumber,
      run,
      account,
      pending: 0,
      released: Promise.withResolvers<void>(),
    };
    run.sessions.set(session.number, session);
    const { callId, tool, tenant = "", remote = null } = call;
    const secrets = call.grantsOf("secrets");
    const opened = { session: session.number, capability, callId, tool, tenant, grants, secrets, binary, remote };
    run.outbox.push({ kind: "open", ...opened });
    return session;
  }

  request(session: ThreadSession, method: string, label: string, args: string, effects: number): Promise<EndedMethod> {
    const { run } = session;
    if (run.isDead) return Promise.resolve(this.#lost(label, 0));
    return new Promise((respond) => {
      const request = ++this.#lastNumber;
      run.requests.set(request, { session, label, effects, respond });
      session.pending++;
      run.outbox.push({ kind: "request", session: session.number, request, method, label, args });
    });
  }

  end(session: ThreadSession): Promise<void> {
    const { number, run, released } = session;
    if (run.isDead) return Promise.resolve();
    const end: ToThread = { kind: "end", session: number };
    // Nothing waits for the end of a call whose methods have all ended: it travels with what follows.
    if (session.pending === 0) run.outbox.pushLater(end);
    else run.outbox.push(end);
    return released.promise;
  }

  close(): Promise<void> {
    this.#isClosed = true;
    return (this.#closing ??= this.#close());
  }

  async #close(): Promise<void> {
    const run = this.#current;
    if (run === null || run.isDead) return;
    run.outbox.push({ kind: "close" });
    run.outbox.flush();
    await within(CLOSE_MS, run.ended.promise);
    await within(CLOSE_MS, run.server.terminate());
  }

  #running(): ThreadRun {
    const current = this.#current;
    if (current !== null && (!current.isDead || !this.#mayRestart(current))) return current;
    if (this.#isClosed) throw new Error("the engine is closed");
    const { place = "thread", settings, lookup } = this.#options;
    const delegated = delegation();
    const groups = delegated?.kind === "delegated" ? delegated.directory : null;
    const server = startServer(
      place,
      { ...settings, hasLookup: lookup !== undefined, groups, routes: this.#routes },
      {
        onMessages: (messages) => messages.forEach((message) => this.#receive(run, message)),
        onEnd: (error) => this.#onDeath(run, error),
      },
    );
    const run: ThreadRun = {
      server,
      outbox: new Outbox((messages) => server.post(messages)),
      sessions: new Map(),
      requests: new Map(),
      backlogs: new Map(),
      toolCalls: new Map(),
      ended: Promise.withResolvers<void>(),
      startedMs: performance.now(),
      isDead: false,
    };
    this.#current = run;
    return run;
  }

  /** Whether another thread may take the place of a dead one, whose requests fail. */
  #mayRestart({ startedMs }: ThreadRun): boolean {
    const { restartMs = RESTART_MS } = this.#options;
    return !this.#isClosed && performance.now() >= startedMs + restartMs;
  }

  #receive(run: ThreadRun, message: FromThread): void {
    switch (message.kind) {
      case "response": {
        const pending = run.requests.get(message.request);
        if (pending === undefined) return;
        run.requests.delete(message.request);
        pending.session.pending--;
        return pending.respond(message.end);
      }
      case "spent":
        return run.sessions.get(message.session)?.account.spendBroker(message.ms);
      case "released": {
        run.sessions.get(message.session)?.released.resolve();
        run.sessions.delete(message.session);
        return;
      }
      case "backlog":
        if (message.ms === 0) run.backlogs.delete(message.tenant);
        else run.backlogs.set(message.tenant, message.ms);
        return;
      case "lookup":
        return void this.#resolve(run, message.lookup, message.hostname);
      case "tool":
        return void this.#callTool(run, message.request, message);
      case "untell":
        return run.toolCalls.get(message.request)?.abort();
      case "violation":
        return this.#options.onViolation(message.violation);
      case "login":
        return this.#options.onLogin(message.report);
      case "throttled":
        return this.#options.onThrottled(message.throttling);
    }
  }

  async #resolve({ outbox }: ThreadRun, lookup: number, hostname: string): Promise<void> {
    const addresses = await Promise.try(async () => (await this.#options.lookup?.(hostname)) ?? null).catch(() => null);
    outbox.push({ kind: "resolved", lookup, addresses });
  }

  async #callTool({ outbox, toolCalls }: ThreadRun, request: number, call: SessionToolCall): Promise<void> {
    const abort = new AbortController();
    toolCalls.set(request, abort);
    const { connector, tool, tenant, args, isRepeatable } = call;
    const end = await Promise.try(() =>
      this.#options.callTool({ connector, tool, tenant, args, isRepeatable }, abort.signal),
    ).then(
      (text) => ({ kind: "answer", text }) as const,
      (error: unknown) =>
        ({ kind: "failed", message: messageOf(error), needsLogin: error instanceof LoginRequired }) as const,
    );
    toolCalls.delete(request);
    outbox.push({ kind: "told", request, end });
  }

  #onDeath(run: ThreadRun, error: Error): void {
    if (run.isDead) return;
    run.isDead = true;
    run.ended.resolve();
    for (const { label, effects, respond } of run.requests.values()) respond(this.#lost(label, effects));
    for (const { released } of run.sessions.values()) released.resolve();
    for (const abort of run.toolCalls.values()) abort.abort();
    run.requests.clear();
    run.sessions.clear();
    run.backlogs.clear();
    if (!this.#isClosed) this.#options.onDeath(error);
  }

  #lost(label: string, effects: number): EndedMethod {
    const { place = "thread" } = this.#options;
    const message = `${label} failed: the broker ${place} ended; call the tool again`;
    return { kind: "ended", effects, outcome: { kind: "failed", message } };
  }
}
