import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** An effect: the call's key, and its number. */
export interface Effect {
  readonly key: string;
  readonly n: number;
}

/** Time until an effect is answered: long enough for a kill between the two. */
const ANSWER_MS = 20;

/** Counts effects, as often as they happen. */
export class CountingServer implements AsyncDisposable {
  readonly #server = createServer((request, response) => this.#take(request, response));
  readonly #aim: number;
  readonly #kill: (machine: string) => boolean;
  readonly #counts = new Map<string, number>();
  /** Effects that were asked for, also those that have not happened. */
  readonly #seen = new Set<string>();
  #asked = 0;

  /** `aim`: each so-manieth effect kills the machine that asks for it, before it happens or after. */
  constructor(aim: number, kill: (machine: string) => boolean) {
    this.#aim = aim;
    this.#kill = kill;
  }

  async listen(): Promise<string> {
    await once(this.#server.listen(0, "127.0.0.1"), "listening");
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/`;
  }

  get effects(): number {
    return this.#counts.size;
  }

  get twice(): readonly string[] {
    return [...this.#counts].flatMap(([place, count]) => (count > 1 ? [place] : []));
  }

  /** How often an effect has happened. */
  count({ key, n }: Effect): number {
    return this.#counts.get(`${key} ${n}`) ?? 0;
  }

  /** Whether an effect may be under way: all of its call's before it have happened, and none after it was asked for. */
  mayBeUnderWay({ key, n }: Effect, most: number): boolean {
    for (let other = 1; other <= most; other++) {
      if (other < n && this.count({ key, n: other }) === 0) return false;
      if (other > n && this.#seen.has(`${key} ${other}`)) return false;
    }
    return true;
  }

  #take({ url = "", headers }: IncomingMessage, response: ServerResponse): void {
    const { key, n } = effectOf(`http://server${url}`);
    this.#seen.add(`${key} ${n}`);
    if (++this.#asked % this.#aim === 0) {
      const isKilled = this.#kill(`${[headers["machine"]].flat()[0]}`);
      if (isKilled && this.#asked % (2 * this.#aim) === 0) return;
    }
    const count = this.count({ key, n }) + 1;
    this.#counts.set(`${key} ${n}`, count);
    setTimeout(() => response.end(JSON.stringify(count)), ANSWER_MS);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await this.#server[Symbol.asyncDispose]();
  }
}

/** The effect that a URL asks for. */
export function effectOf(url: string): Effect {
  const { searchParams } = new URL(url);
  return { key: searchParams.get("key") ?? "", n: Number(searchParams.get("n")) };
}
