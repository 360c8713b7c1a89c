import { signal } from "@preact/signals";
import { getJson } from "./api.ts";
import { type DurablePage, undecided, WAITING } from "./durable-call.ts";
import { mention } from "./elements.tsx";
import { plural } from "./format.ts";
import { keyChanges } from "./key.ts";

/** The caller that the server sees in this page. */
export interface Caller {
  readonly key: string | null;
  readonly roles: readonly string[];
}

/** `null` until it is known, and if the server does not report it. */
export const caller = signal<Caller | null>(null);
/** Calls that wait for a decision, as `7` or `7+`: more than are counted. Empty for none. */
export const waiting = signal("");

const COUNT_MS = 15_000;
/** Maximum number of counted calls. */
const COUNTED_MAX = 50;
let known = 0;

/** Whether the page may list calls that wait. */
export function maySeeWaiting(): boolean {
  return caller.value?.roles.some((role) => role === "approve" || role === "calls") === true;
}

/** Whether the page may save and delete snippets. */
export function isAdmin(): boolean {
  return caller.value?.roles.includes("admin") === true;
}

/** Counts again and again while the page is visible. */
export function watchWaiting(): void {
  setInterval(() => {
    if (document.visibilityState === "visible") void countWaiting();
  }, COUNT_MS);
}

/** Reloads the permissions of the page's key. */
export async function loadCaller(): Promise<void> {
  caller.value = null;
  waiting.value = "";
  known = 0;
  const changes = keyChanges.peek();
  const found = await getJson<Caller>("/v1/caller").catch(() => null);
  // Another key has been entered meanwhile.
  if (changes !== keyChanges.peek()) return;
  caller.value = found;
  await countWaiting();
}

/** Counts calls that wait for a decision, and announces an increase. */
export async function countWaiting(): Promise<void> {
  if (!maySeeWaiting()) return;
  try {
    const path = `/v1/calls?state=${WAITING}&values=false&limit=${COUNTED_MAX}`;
    const { calls, cursor } = await getJson<DurablePage>(path);
    const count = calls.filter((call) => undecided(call) > 0).length;
    waiting.value = count === 0 && cursor === null ? "" : `${count}${cursor === null ? "" : "+"}`;
    if (count > known) mention(`${plural(count, "call")} to decide`);
    known = count;
  } catch {
    // The number before stays until the next one.
  }
}
