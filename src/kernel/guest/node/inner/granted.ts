import { library } from "./library.ts";

/** The part of a call that a connection uses. */
export interface SocketCall {
  readonly settled: boolean;
  nextRequest(): number;
  ask(capability: string, method: string, args: unknown): Promise<unknown>;
  log(level: string, message: string): void;
  readonly timers: {
    set(callback: () => void, delayMs: number, args: readonly unknown[], repeat: boolean): number;
    clear(id: number): void;
  };
}

/**
 * The call for which a connection is made; `null` if none runs. Throws if its tool does not request the capability
 * `fetch` at all. The host decides whether the policy grants it.
 */
export function checkGrant(name: string, url: string): SocketCall | null {
  const call = library.host.call();
  if (!library.state().lacksFetch) return call === null || call.settled ? null : call;
  const { origin } = new URL(url);
  const grant = `{ "fetch": { "origins": ["${origin}"] } }`;
  throw library.host.denied(
    "fetch",
    "connect",
    `${name} needs the capability "fetch", which the tool does not ask for; to grant it, add ${grant} to the tool's capabilities, and allow it in a policy rule`,
  );
}

/** A URL for the log, without its query, which may hold a key. */
export function shownUrl({ origin, pathname }: URL): string {
  return `${origin}${pathname}`.slice(0, 200);
}
