import { computed, type ReadonlySignal, signal } from "@preact/signals";
import { messageOf } from "../api.ts";

/** Maximum number of rows added since the list was loaded; beyond it, the list is read again. */
const TOLD_MAX = 1_000;
/** Maximum number of rows in memory; those farthest from the visible ones are removed first, and reloaded on demand. */
const ROWS_MAX = 10_000;

/** A server's answer to a request for rows, the newest first. */
export interface RowPage<Row> {
  readonly calls: readonly Row[];
  /** Start of the next page; `null`: this is the last. */
  readonly cursor: string | null;
}

/** A page of the list. */
export interface ListPage<Row> {
  /** Start of this page; `null`: at the newest row. */
  readonly cursor: string | null;
  /** Start of the next page; `null`: this is the last. */
  readonly next: string | null;
  /** Number of its rows. */
  readonly length: number;
  /** `null` if they are not in memory. */
  readonly rows: readonly Row[] | null;
}

const shown = signal<PagedList<{ readonly id: string }> | null>(null);
/** Rows of the last displayed list: a row leads to its neighbours. `null`: a row that is not in memory. */
export const neighbours = computed(() => shown.value?.rows.value ?? []);
/** Addresses of the lists that were shown last. */
export const listAddress = signal({ calls: "#/calls", approvals: "#/approvals" });

/** Rows, the newest first: loaded in pages on demand, and added as they arrive. */
export abstract class PagedList<Row extends { readonly id: string }> {
  readonly #closed = new AbortController();
  /** Rows of a page. */
  readonly #limit: number;
  protected readonly pages = signal<readonly ListPage<Row>[]>([]);
  readonly #top = signal<readonly Row[]>([]);
  readonly #fresh = signal<readonly Row[]>([]);
  readonly #problem = signal<string | null>(null);
  /** Keys of `#top` and `#fresh`: pages have these rows, too. */
  readonly #told = new Set<string>();
  /** The current request; another one after the list was read again. */
  #loading: symbol | null = null;

  /** Displayed rows; `null`: a row that is not in memory. */
  readonly rows = computed<readonly (Row | null)[]>(() => [
    ...this.#top.value,
    ...this.pages.value.flatMap<Row | null>(({ rows, length }) => rows ?? Array.from({ length }, () => null)),
  ]);
  /** Rows that have come since, the newest first. */
  readonly fresh: ReadonlySignal<readonly Row[]> = this.#fresh;
  readonly problem: ReadonlySignal<string | null> = this.#problem;
  /** Whether the oldest row is shown. */
  readonly isWhole = computed(() => this.pages.value.at(-1)?.next === null);

  constructor(limit: number) {
    this.#limit = limit;
  }

  protected abstract request(query: Readonly<Record<string, string>>, signal: AbortSignal): Promise<RowPage<Row>>;
  /** Reports new rows until the list is closed. */
  protected abstract follow(closed: AbortSignal): Promise<void>;
  protected abstract keyOf(row: Row): string;

  async open(): Promise<void> {
    shown.value = this;
    await this.look(0, 1);
    // Without the first page, following is useless.
    if (this.#problem.value === null) await this.follow(this.#closed.signal);
  }

  close(): void {
    this.#closed.abort();
  }

  /** Loads a page that is missing among these rows, if no other is being loaded, and gives up rows far from them. */
  async look(first: number, end: number): Promise<void> {
    if (this.#loading !== null || this.#closed.signal.aborted) return;
    const pages = this.pages.value;
    const at = this.#missing(first, end);
    const cursor = at < pages.length ? pages[at]?.cursor : (pages.at(-1)?.next ?? null);
    if (cursor === undefined || (at === pages.length && this.isWhole.value)) return;
    const loading = Symbol("page");
    this.#loading = loading;
    try {
      const page = await this.read(cursor === null ? {} : { cursor });
      if (this.#loading !== loading) return;
      const rows = page.calls.filter((row) => !this.#told.has(this.keyOf(row)));
      const loaded = { cursor, next: page.cursor, length: rows.length, rows };
      this.#problem.value = null;
      this.pages.value = this.#within(pages.toSpliced(at, 1, loaded), first, end);
    } catch (error) {
      if (this.#loading === loading && !this.#closed.signal.aborted) this.#problem.value = messageOf(error);
    } finally {
      if (this.#loading === loading) this.#loading = null;
    }
  }

  /**
   * Place of the first page that is missing among rows; the number of pages if the next one is missing; -1 if none is
   * missing.
   */
  #missing(first: number, end: number): number {
    const pages = this.pages.value;
    let start = this.#top.value.length;
    for (const [at, { length, rows }] of pages.entries()) {
      if (rows === null && start < end && start + length > first) return at;
      start += length;
    }
    return start < end ? pages.length : -1;
  }

  /** The pages with at most `ROWS_MAX` rows. The first page stays: new rows are compared with it. */
  #within(pages: readonly ListPage<Row>[], first: number, end: number): readonly ListPage<Row>[] {
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

  protected read(extra: Readonly<Record<string, string>>): Promise<RowPage<Row>> {
    return this.request({ limit: String(this.#limit), ...extra }, this.#closed.signal);
  }

  /** Puts the rows that have come since to the others. */
  showFresh(): void {
    const top = [...this.#fresh.value, ...this.#top.value];
    const isTooMany = top.length >= TOLD_MAX;
    this.#fresh.value = [];
    this.#top.value = isTooMany ? [] : top;
    if (!isTooMany) return;
    this.#told.clear();
    this.pages.value = [];
    this.#loading = null;
    void this.look(0, 1);
  }

  /** Reports rows that are not in some pages. */
  protected add(rows: readonly Row[], pages: readonly ListPage<Row>[] = this.pages.value.slice(0, 1)): void {
    const listed = pages.flatMap((page) => page.rows ?? []);
    const known = new Set([...this.#told, ...listed.map((row) => this.keyOf(row))]);
    const added = rows.filter((row) => !known.has(this.keyOf(row))).slice(0, TOLD_MAX - this.#fresh.value.length);
    for (const row of added) this.#told.add(this.keyOf(row));
    if (added.length > 0) this.#fresh.value = [...added, ...this.#fresh.value];
  }
}

/** Resolves after some time, or when the list is closed. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
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
