import { computed, signal } from "@preact/signals";
import { ApiError, openStream } from "./api.ts";
import type { Stats } from "./wire.ts";

/** Number of snapshots kept: two minutes, as the charts show. */
const KEPT_MAX = 120;
const RETRY_MS = 2_000;

/** `refused`: the key has no access; retried only with another key. */
export type FeedState =
  { readonly kind: "connecting" | "live" } | { readonly kind: "lost" | "refused"; readonly reason: string };

/** The server's latest snapshots, the newest last; they come while the page is visible. */
export const history = signal<readonly Stats[]>([]);
export const feed = signal<FeedState>({ kind: "connecting" });
export const last = computed(() => history.value.at(-1));
/** Whether the server belongs to a fleet. */
export const hasFleet = computed(() => last.value?.executor.fleet !== undefined);

/** A text is equal as long as the names are the same: its readers are not rendered each second. */
const quarantinedText = computed(() => JSON.stringify(last.value?.quarantined ?? []));
/** Names of tools in quarantine. */
export const quarantined = computed(() => new Set(JSON.parse(quarantinedText.value) as readonly string[]));

/** A change between two snapshots. */
export interface Incident {
  readonly time: string;
  readonly text: string;
}

/** Problems, and their ends, within the history. */
export const incidents = computed<readonly Incident[]>(() =>
  history.value.flatMap((now, at) => {
    const before = history.value[at - 1];
    return before === undefined ? [] : changesOf(before, now).map((text) => ({ time: now.time, text }));
  }),
);

function changesOf(before: Stats, now: Stats): readonly string[] {
  const added = now.quarantined.filter((name) => !before.quarantined.includes(name));
  const freed = before.quarantined.filter((name) => !now.quarantined.includes(name));
  return [
    ...(now.restarts > before.restarts ? ["an executor was restarted"] : []),
    ...added.map((name) => `${name} was quarantined`),
    ...freed.map((name) => `${name} left quarantine`),
    ...(now.state === before.state ? [] : [`the engine is ${now.state}`]),
  ];
}

let current = new AbortController();
let retry = 0;

/** Begins to listen, or restarts with another key. */
export function startStats(): void {
  stop();
  current = new AbortController();
  void watch(current.signal);
}

document.addEventListener("visibilitychange", () => {
  if (document.visibilityState === "visible") startStats();
  else stop();
});

function stop(): void {
  current.abort();
  clearTimeout(retry);
}

async function watch(signal: AbortSignal): Promise<void> {
  let reason = "the server ended the stream";
  try {
    const events = await openStream("/v1/stats", signal);
    for await (const { data } of events ?? []) {
      if (signal.aborted) return;
      history.value = [...history.value, JSON.parse(data) as Stats].slice(-KEPT_MAX);
      feed.value = { kind: "live" };
    }
  } catch (error) {
    if (signal.aborted) return;
    reason = error instanceof ApiError ? error.message : "the connection was lost";
    // Do not retry: the same key would be refused again.
    if (error instanceof ApiError && (error.status === 401 || error.status === 403)) {
      feed.value = { kind: "refused", reason };
      return;
    }
  }
  if (signal.aborted) return;
  feed.value = { kind: "lost", reason };
  retry = setTimeout(startStats, RETRY_MS);
}
