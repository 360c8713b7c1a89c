import { signal } from "@preact/signals";
import { getJson } from "../api.ts";
import type { DurableCall, DurablePage } from "../durable-call.ts";
import { PagedList, pause } from "./paged-list.ts";

/** A page has the arguments' places only, but the server reads all of each call. */
const PAGE_CALLS = 50;
const POLL_MS = 5_000;

/** Calls that wait, or have waited, the newest first. Those that have left the state of the list are marked. */
export class WaitingList extends PagedList<DurableCall> {
  readonly #query: Readonly<Record<string, string>>;
  /** Ids of listed calls that are no longer in the state. */
  readonly gone = signal<ReadonlySet<string>>(new Set());

  constructor(query: Readonly<Record<string, string>>) {
    super(PAGE_CALLS);
    this.#query = query;
  }

  protected override keyOf({ id }: DurableCall): string {
    return id;
  }

  protected override request(extra: Readonly<Record<string, string>>, signal: AbortSignal): Promise<DurablePage> {
    return getJson(`/v1/calls?${new URLSearchParams({ ...this.#query, values: "false", ...extra })}`, signal);
  }

  protected override async follow(closed: AbortSignal): Promise<void> {
    for (;;) {
      await pause(POLL_MS, closed);
      if (closed.aborted) return;
      if (document.visibilityState !== "visible") continue;
      // A failed request may succeed the next time.
      const page = await this.read({}).catch(() => null);
      if (page === null) continue;
      this.#mark(page);
      this.add(page.calls, this.pages.value);
    }
  }

  /** Marks calls that the newest page would have, if they were still in the state. */
  #mark({ calls, cursor }: DurablePage): void {
    const now = new Set(calls.map(({ id }) => id));
    const listed = this.rows.value.map((row) => row?.id ?? "");
    const end = cursor === null ? listed.length : listed.findLastIndex((id) => now.has(id));
    const before = [...this.gone.value].filter((id) => !now.has(id));
    this.gone.value = new Set([
      ...before,
      ...listed.slice(0, Math.max(0, end)).filter((id) => id !== "" && !now.has(id)),
    ]);
  }
}
