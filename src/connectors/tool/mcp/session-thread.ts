import type { LoginReport } from "../../../kernel/base/connector-report.ts";
import type * as Sdk from "@modelcontextprotocol/client";
import type { Redactor } from "../../../kernel/base/redaction/redactor.ts";
import { Connections } from "../../../kernel/broker/capabilities/fetch/connections.ts";
import { namesIn } from "../../../kernel/broker/capabilities/secrets/placeholders.ts";
import { Secrets } from "../../../kernel/broker/capabilities/secrets/secrets.ts";
import { Logins } from "../../login/logins.ts";
import { CarriedTokens, SessionTokens } from "./session-tokens.ts";
import { PROGRESS_MESSAGE_MAX } from "../../../kernel/guest/host.ts";
import type { Progress } from "../../../kernel/base/result.ts";
import { ProgressReports } from "./progress-reports.ts";
import { McpConnection } from "./connection.ts";
import { failed, McpError, type McpFailure } from "./failure.ts";
import type { FromThread, ThreadSettings, ToThread } from "./messages.ts";
import type { McpServer } from "./server.ts";

/** Longest silence of an answer's head or body; requests have deadlines of their own. */
const SILENCE_MS = 300_000;

/** The thread's side of a session: one connection, its requests, and the words that leave it, without secrets. */
export class SessionThread {
  readonly #post: (message: FromThread) => void;
  readonly #end: () => void;
  readonly #connections: Connections;
  readonly #connection: McpConnection;
  readonly #redactor: Redactor | null;
  readonly #requests = new Map<number, AbortController>();
  readonly #lookups = new Map<number, (addresses: readonly string[] | null) => void>();
  #lastLookup = 0;
  readonly #logins: Logins | null;
  /** The last tokens that were sent: a server may repeat them in any message. */
  readonly #carried = new CarriedTokens();

  constructor(settings: ThreadSettings, sdk: typeof Sdk, post: (message: FromThread) => void, end: () => void) {
    this.#post = post;
    this.#end = end;
    const { connector, server, trustAnnotations, limits, fetch, hasLookup, login } = settings;
    const secrets = new Secrets(settings.secrets, {}, () => {});
    this.#redactor = secrets.redactorOf(namesIn(textsOf(server)));
    const silent = { ...fetch, headersMs: SILENCE_MS, idleMs: SILENCE_MS };
    this.#connections = new Connections(
      hasLookup ? { ...silent, lookup: (hostname) => this.#lookup(hostname) } : silent,
    );
    const onReport = (report: LoginReport): void => post({ kind: "login", report });
    const host = { connections: this.#connections, secrets, onReport };
    this.#logins = login === null || server.kind !== "http" ? null : new Logins(login, server.url, host);
    this.#connection = new McpConnection({
      tokens: this.#logins === null ? null : new SessionTokens(this.#logins, settings.tenant, this.#carried),
      sdk,
      connector,
      server,
      trustAnnotations,
      secrets,
      connections: this.#connections,
      limits,
      clean: (text) => this.#clean(text),
      onChanged: () => post({ kind: "changed" }),
      onLost: (failure) => void this.#lose(failure),
      onGroup: (pid) => post({ kind: "group", pid }),
    });
  }

  async open(): Promise<void> {
    try {
      const { name, version, protocol } = await this.#connection.open();
      this.#post({ kind: "up", peer: { name: this.#clean(name), version: this.#clean(version), protocol } });
    } catch (error) {
      await this.#lose(failureOf(error));
    }
  }

  receive(message: ToThread): void {
    switch (message.kind) {
      case "list":
        return void this.#answer(message.request, async (signal) => {
          const { tools, findings, ttlMs } = await this.#connection.list(signal);
          const clean = findings.map(({ tool, reason }) => ({
            tool: tool === null ? null : this.#clean(tool),
            reason: this.#clean(reason),
          }));
          const list = { tools: tools.map((json) => this.#clean(json)), findings: clean, ttlMs };
          this.#post({ kind: "listed", request: message.request, list });
        });
      case "call":
        return void this.#answer(message.request, async (signal) => {
          const text = await this.#call(message, signal);
          this.#post({ kind: "answered", request: message.request, text: this.#clean(text) });
        });
      case "cancel":
        return this.#requests.get(message.request)?.abort(new McpError("the call has ended"));
      case "resolved": {
        this.#lookups.get(message.lookup)?.(message.addresses);
        this.#lookups.delete(message.lookup);
        return;
      }
      case "close":
        return void this.#close();
    }
  }

  async #call(asked: Extract<ToThread, { readonly kind: "call" }>, signal: AbortSignal): Promise<string> {
    const { request, tool, args, timeoutMs, maxBytes, isWatched } = asked;
    if (!isWatched) return this.#connection.call(tool, args, { timeoutMs, maxBytes, signal });
    using reports = new ProgressReports(({ message, ...progress }) => {
      const said = message === undefined ? {} : { message: this.#clean(message).slice(0, PROGRESS_MESSAGE_MAX) };
      this.#post({ kind: "progress", request, progress: { ...progress, ...said } });
    });
    const onProgress = (progress: Progress): void => reports.take(progress);
    return await this.#connection.call(tool, args, { timeoutMs, maxBytes, signal, onProgress });
  }

  async #answer(request: number, task: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const abort = new AbortController();
    this.#requests.set(request, abort);
    try {
      await task(abort.signal);
    } catch (error) {
      this.#post({ kind: "failed", request, failure: this.#cleanFailure(failureOf(error)) });
    } finally {
      this.#requests.delete(request);
    }
  }

  async #lose(failure: McpFailure): Promise<void> {
    this.#post({ kind: "lost", failure: this.#cleanFailure(failure) });
    await this.#close();
  }

  async #close(): Promise<void> {
    await this.#connection.close();
    await this.#logins?.close();
    await this.#connections.close();
    this.#end();
  }

  #lookup(hostname: string): Promise<readonly string[]> {
    const lookup = ++this.#lastLookup;
    this.#post({ kind: "lookup", lookup, hostname });
    return new Promise((resolve, reject) => {
      this.#lookups.set(lookup, (addresses) => {
        if (addresses === null) reject(new Error("the name could not be resolved"));
        else resolve(addresses);
      });
    });
  }

  #clean(text: string): string {
    return this.#carried.clean(this.#redactor?.text(text) ?? text);
  }

  #cleanFailure({ message, detail, ...rest }: McpFailure): McpFailure {
    return { ...rest, message: this.#clean(message), detail: detail === null ? null : this.#clean(detail) };
  }
}

/** Texts of a connector that may hold placeholders. */
function textsOf(server: McpServer): readonly string[] {
  if (server.kind === "http") return [server.url, ...server.headers.map(([, value]) => value)];
  return [...server.env.values()];
}

function failureOf(error: unknown): McpFailure {
  return error instanceof McpError ? error.failure : failed("the connection failed");
}
