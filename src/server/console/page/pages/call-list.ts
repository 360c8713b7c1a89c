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
/** Maximum number of calls told of since the list was loaded; with more, it is read again. */
const TOLD_MAX = 1_000;
/** Maximum number of rows in memory; those farthest from what is looked at go first, and are loaded again on demand. */
const ROWS_MAX = 10_000;

/** A page of the list. */
interface ListPage {
  /** Where it begins; `null`: at the newest call. */
  readonly cursor: string | null;
  /** Where the next one begins; `null`: this is the last. */
  readonly next: string | null;
  /** Number of its rows. */
  readonly length: number;
  /** `null` where they are not in memory. */
  readonly rows: readonly CallSummary[] | null;
}

const shown = signal<CallList | null>(null);
/** Rows of the list that was shown last: a call leads to its neighbours. `null` stands for rows that are not in memory. */
export const neighbours = computed(() => shown.value?.rows.value ?? []);
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

/** Calls that match filters, the newest first: loaded in pages as they are looked at, and told of as they end. */
export class CallList {
  readonly #filters: Filters;
  readonly #nowMs = Date.now();
  readonly #closed = new AbortController();
  readonly #pages = signal<readonly ListPage[]>([]);
  readonly #top = signal<readonly CallSummary[]>([]);
  readonly #fresh = signal<readonly CallSummary[]>([]);
  readonly #problem = signal<string | null>(null);
  /** Keys of `#top` and `#fresh`: pages have these calls, too. */
  readonly #told = new Set<string>();
  /** The request that is under way; another one where the list is read again. */
  #loading: symbol | null = null;

  /** Rows that are shown; `null` stands for a row that is not in memory. */
  readonly rows = computed<readonly (CallSummary | null)[]>(() => [
    ...this.#top.value,
    ...this.#pages.value.flatMap<CallSummary | null>(({ rows, length }) => rows ?? Array.from({ length }, () => null)),
  ]);
  /** Calls that have ended since, the newest first. */
  readonly fresh: ReadonlySignal<readonly CallSummary[]> = this.#fresh;
  readonly problem: ReadonlySignal<string | null> = this.#problem;
  /** Whether the oldest call is shown. */
  readonly isWhole = computed(() => this.#pages.value.at(-1)?.next === null);

  constructor(filters: Filters) {
    this.#filters = filters;
  }

  async open(): Promise<void> {
    shown.value = this;
    await this.look(0, 1);
    // Without the first page there is nothing to follow.
    if (this.#problem.value === null) await this.#follow();
  }

  close(): void {
    this.#closed.abort();
  }

  /** Loads a page that is missing among these rows, if no other is being loaded, and gives up rows far from them. */
  async look(first: number, end: number): Promise<void> {
    if (this.#loading !== null || this.#closed.signal.aborted) return;
    const pages = this.#pages.value;
    const at = this.#missing(first, end);
    const cursor = at < pages.length ? pages[at]?.cursor : (pages.at(-1)?.next ?? null);
    if (cursor === undefined || (at === pages.length && this.isWhole.value)) return;
    const loading = Symbol("page");
    this.#loading = loading;
    try {
      const page = await this.#read({ limit: String(PAGE_CALLS), ...(cursor !== null && { cursor }) });
      if (this.#loading !== loading) return;
      const rows = page.calls.filter((call) => !this.#told.has(keyOf(call)));
      const loaded = { cursor, next: page.cursor, length: rows.length, rows };
      this.#problem.value = null;
      this.#pages.value = this.#within(pages.toSpliced(at, 1, loaded), first, end);
    } catch (error) {
      if (this.#loading === loading && !this.#closed.signal.aborted) this.#problem.value = messageOf(error);
    } finally {
      if (this.#loading === loading) this.#loading = null;
    }
  }

  /** Place of the first page that is missing among rows; the number of pages where the next one is; -1 where nothing is missing. */
  #missing(first: number, end: number): number {
    const pages = this.#pages.value;
    let start = this.#top.value.length;
    for (const [at, { length, rows }] of pages.entries()) {
      if (rows === null && start < end && start + length > first) return at;
      start += length;
    }
    return start < end ? pages.length : -1;
  }

  /** The pages with at most `ROWS_MAX` rows. The first page stays, with which calls that are told of are compared. */
  #within(pages: readonly ListPage[], first: number, end: number): readonly ListPage[] {
    let start = this.#top.value.length;
    const places = pages.map(({ rows, length }, at) => {
      const distance = Math.max(0, start - end, first - start - length);
      start += length;
      return { at, distance, count: rows?.length ?? 0 };
    });
    let left = ROWS_MAX;
    const kept = new Set<number>();
    for (const { at, distance, count } of places.toSorted((a, b) => a.distance - b.distance)) {
      left -= count;
      if (left >= 0 || distance === 0 || at === 0) kept.add(at);
    }
    return pages.map((page, at) => (kept.has(at) ? page : { ...page, rows: null }));
  }

  #read(extra: Readonly<Record<string, string>>): Promise<CallPage> {
    const query = queryOf(this.#filters, this.#nowMs);
    for (const [name, value] of Object.entries(extra)) query.set(name, value);
    return getJson(`/v1/calls?${query}`, this.#closed.signal);
  }

  /** Puts the calls that have ended since to the others. */
  showFresh(): void {
    const top = [...this.#fresh.value, ...this.#top.value];
    const isTooMany = top.length >= TOLD_MAX;
    this.#fresh.value = [];
    this.#top.value = isTooMany ? [] : top;
    if (!isTooMany) return;
    this.#told.clear();
    this.#pages.value = [];
    this.#loading = null;
    void this.look(0, 1);
  }

  #add(calls: readonly CallSummary[]): void {
    const known = new Set([...this.#told, ...(this.#pages.value[0]?.rows ?? []).map(keyOf)]);
    const added = calls.filter((call) => !known.has(keyOf(call))).slice(0, TOLD_MAX - this.#fresh.value.length);
    for (const call of added) this.#told.add(keyOf(call));
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
    const newest = this.#fresh.value[0] ?? this.rows.value[0] ?? null;
    const since = newest === null ? {} : { since: String(newest.beginMs) };
    this.#add((await this.#read({ limit: String(PAGE_CALLS), ...since })).calls);
  }
}

/** Two calls may have one id: an idempotent call that is made again. */
function keyOf({ id, beginMs }: CallSummary): string {
  return `${beginMs} ${id}`;
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
