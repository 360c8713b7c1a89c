import { ApiError, getJson, openStream } from "../api.ts";
import { timeOf } from "../format.ts";
import type { CallPage, CallSummary } from "../wire.ts";
import { PagedList, pause } from "./paged-list.ts";

/** Filters of calls, by the names that they have in addresses. */
export const FILTERS = ["tool", "tenant", "code", "since", "until", "text", "parent"] as const;
export type FilterName = (typeof FILTERS)[number];
export type Filters = Readonly<Partial<Record<FilterName, string>>>;

const PAGE_CALLS = 200;
const POLL_MS = 5_000;

/** The query of a request. A time may be a distance from now: `15m`, `24h`, `7d`. */
export function queryOf(filters: Filters, nowMs: number): URLSearchParams {
  const query = new URLSearchParams();
  for (const name of FILTERS) {
    const value = filters[name] ?? "";
    if (value !== "") query.set(name, name === "since" || name === "until" ? timeOf(value, nowMs) : value);
  }
  return query;
}

/** Calls that match filters, the newest first: added as they end. */
export class CallList extends PagedList<CallSummary> {
  readonly #filters: Filters;
  readonly #nowMs = Date.now();

  constructor(filters: Filters) {
    super(PAGE_CALLS);
    this.#filters = filters;
  }

  /** Two calls may have one id: an idempotent call that is made again. */
  protected override keyOf({ id, beginMs }: CallSummary): string {
    return `${beginMs} ${id}`;
  }

  protected override request(extra: Readonly<Record<string, string>>, signal: AbortSignal): Promise<CallPage> {
    const query = queryOf(this.#filters, this.#nowMs);
    for (const [name, value] of Object.entries(extra)) query.set(name, value);
    return getJson(`/v1/calls?${query}`, signal);
  }

  /** By a stream, or by polling if the server has none. */
  protected override async follow(closed: AbortSignal): Promise<void> {
    while (!closed.aborted) {
      try {
        const events = await openStream(`/v1/calls?${queryOf(this.#filters, this.#nowMs)}`, closed);
        if (events === null) await this.#poll();
        for await (const { event, data } of events ?? []) {
          if (event === "call") this.add([JSON.parse(data) as CallSummary]);
        }
      } catch (error) {
        if (error instanceof ApiError && error.status !== 0) return;
      }
      await pause(POLL_MS, closed);
    }
  }

  async #poll(): Promise<void> {
    if (document.visibilityState !== "visible") return;
    const newest = this.fresh.value[0] ?? this.rows.value[0] ?? null;
    const since = newest === null ? {} : { since: String(newest.beginMs) };
    this.add((await this.read(since)).calls);
  }
}
