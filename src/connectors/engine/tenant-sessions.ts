import type { McpSession } from "../tool/mcp/session.ts";

/** Sessions at once: each has a thread. */
const SESSIONS_MAX = 64;
const IDLE_MS = 600_000;

interface TenantSession {
  readonly session: McpSession;
  calls: number;
  usedMs: number;
}

/** Sessions of one MCP server with the logins of tenants: a session belongs to the tenant that opened it. */
export class TenantSessions implements AsyncDisposable {
  readonly #open: (tenant: string) => McpSession;
  /** Least recently used first. */
  readonly #sessions = new Map<string, TenantSession>();
  readonly #closing = new Set<Promise<void>>();

  constructor(open: (tenant: string) => McpSession) {
    this.#open = open;
  }

  /** The tenant's session, until the call has ended. Throws if too many tenants call at once. */
  use(tenant: string): Disposable & { readonly session: McpSession } {
    const found = this.#sessions.get(tenant) ?? this.#create(tenant);
    this.#sessions.delete(tenant);
    this.#sessions.set(tenant, found);
    found.calls++;
    return {
      session: found.session,
      [Symbol.dispose]: () => {
        found.calls--;
        found.usedMs = performance.now();
      },
    };
  }

  hasten(): void {
    for (const { session } of this.#sessions.values()) session.hasten();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const tenant of this.#sessions.keys()) this.#close(tenant);
    await Promise.all(this.#closing);
  }

  #create(tenant: string): TenantSession {
    const nowMs = performance.now();
    const idle = [...this.#sessions].filter(([, { calls }]) => calls === 0);
    for (const [other, { usedMs }] of idle) if (nowMs - usedMs > IDLE_MS) this.#close(other);
    const oldest = idle.find(([other]) => this.#sessions.has(other));
    if (this.#sessions.size >= SESSIONS_MAX) {
      if (oldest === undefined) throw new Error(`more than ${SESSIONS_MAX} tenants call the connector at once`);
      this.#close(oldest[0]);
    }
    return { session: this.#open(tenant), calls: 0, usedMs: nowMs };
  }

  #close(tenant: string): void {
    const closed = this.#sessions
      .get(tenant)
      ?.session.close()
      .catch(() => undefined);
    this.#sessions.delete(tenant);
    if (closed === undefined) return;
    this.#closing.add(closed);
    void closed.then(() => this.#closing.delete(closed));
  }
}
