import { computed, type ReadonlySignal, signal } from "@preact/signals";
import { ApiError, getJson, messageOf, openStream } from "../api.ts";
import { timeOf } from "../format.ts";
import type { CallPage, CallSummary } from "../wire.ts";

/** Filters of calls, by the names that they have in addresses. */
export const FILTERS = ["tool", "tenant", "code", "since", "until", "text", "parent"] as const;
export type FilterName = (typeof FILTERS)[number];
export type Filters = Readonly<Partial<Record<FilterName, string>>>;

const PAGE_CALLS = 200;
const POLL_MS = 5_000;
/** Maximum number of calls that wait to be shown; with more, the list is read again. */
const FRESH_MAX = 1_000;

const shown = signal<CallList | null>(null);
/** Rows of the list that was shown last: a call leads to its neighbours. */
export const neighbours = computed(() => shown.value?.calls.value ?? []);
/** Address of the list that was shown last. */
export const listAddress = signal("#/calls");

/** The query of a request. A time may be a distance from now: `15m`, `24h`, `7d`. */
export function queryOf(filters: Filters, nowMs: number): URLSearchParams {
  const query = new URLSearchParams();
  for (const name of FILTERS) {
    const value = filters[name] ?? "";
    if (value !== "") query.set(name, name === "since" || name === "until" ? timeOf(value, nowMs) : value);
  }
  return query;
}

/** Calls that match filters, the newest first: loaded in pages, and told of as they end. */
export class CallList {
  readonly #filters: Filters;
  readonly #nowMs = Date.now();
  readonly #closed = new AbortController();
  readonly #known = new Set<string>();
  readonly #calls = signal<readonly CallSummary[]>([]);
  readonly #fresh = signal<readonly CallSummary[]>([]);
  readonly #problem = signal<string | null>(null);
  readonly #cursor = signal<string | null | undefined>(undefined);
  /** The request for older calls that is under way; another one where the list is read again. */
  #loading: symbol | null = null;

  /** Calls that are shown. */
  readonly calls: ReadonlySignal<readonly CallSummary[]> = this.#calls;
  /** Calls that have ended since, the newest first. */
  readonly fresh: ReadonlySignal<readonly CallSummary[]> = this.#fresh;
  readonly problem: ReadonlySignal<string | null> = this.#problem;
  /** Whether there are no older ones. */
  readonly isWhole = computed(() => this.#cursor.value === null);

  constructor(filters: Filters) {
    this.#filters = filters;
  }

  async open(): Promise<void> {
    shown.value = this;
    await this.more();
    // Without the first page there is nothing to follow.
    if (this.#problem.value === null) await this.#follow();
  }

  close(): void {
    this.#closed.abort();
  }

  /** Loads older calls. A page without any is followed by the next. */
  async more(): Promise<void> {
    if (this.#loading !== null || this.isWhole.value || this.#closed.signal.aborted) return;
    const loading = Symbol("older calls");
    this.#loading = loading;
    try {
      const query = queryOf(this.#filters, this.#nowMs);
      query.set("limit", String(PAGE_CALLS));
      if (typeof this.#cursor.value === "string") query.set("cursor", this.#cursor.value);
      const page = await getJson<CallPage>(`/v1/calls?${query}`);
      if (this.#closed.signal.aborted || this.#loading !== loading) return;
      this.#calls.value = [...this.#calls.value, ...page.calls.filter((call) => this.#isNew(call))];
      this.#cursor.value = page.cursor;
      this.#problem.value = null;
    } catch (error) {
      if (this.#loading !== loading) return;
      this.#problem.value = messageOf(error);
      this.#cursor.value ??= null;
    } finally {
      if (this.#loading === loading) this.#loading = null;
    }
  }

  /** Puts the calls that have ended since to the others. */
  showFresh(): void {
    const isTooMany = this.#fresh.value.length >= FRESH_MAX;
    if (isTooMany) this.#known.clear();
    this.#calls.value = isTooMany ? [] : [...this.#fresh.value, ...this.#calls.value];
    this.#fresh.value = [];
    if (!isTooMany) return;
    this.#cursor.value = undefined;
    this.#loading = null;
    void this.more();
  }

  #isNew({ id, beginMs }: CallSummary): boolean {
    const key = `${beginMs} ${id}`;
    if (this.#known.has(key)) return false;
    this.#known.add(key);
    return true;
  }

  #add(calls: readonly CallSummary[]): void {
    const room = FRESH_MAX - this.#fresh.value.length;
    const added = calls.slice(0, room).filter((call) => this.#isNew(call));
    if (added.length > 0) this.#fresh.value = [...added, ...this.#fresh.value];
  }

  /** By a stream, or where the server has none, by asking again and again. */
  async #follow(): Promise<void> {
    const { signal: closed } = this.#closed;
    while (!closed.aborted) {
      try {
        const events = await openStream(`/v1/calls?${queryOf(this.#filters, this.#nowMs)}`, closed);
        if (events === null) await this.#poll();
        for await (const { event, data } of events ?? []) {
          if (event === "call") this.#add([JSON.parse(data) as CallSummary]);
        }
      } catch (error) {
        if (error instanceof ApiError && error.status !== 0) return;
      }
      await pause(POLL_MS, closed);
    }
  }

  async #poll(): Promise<void> {
    if (document.visibilityState !== "visible") return;
    const newest = this.#fresh.value[0] ?? this.#calls.value[0];
    const query = queryOf(this.#filters, this.#nowMs);
    query.set("limit", String(PAGE_CALLS));
    if (newest !== undefined) query.set("since", String(newest.beginMs));
    this.#add((await getJson<CallPage>(`/v1/calls?${query}`)).calls);
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener("abort", end);
  });
}
