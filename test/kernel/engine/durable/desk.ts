import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** A server that counts what others ask it to do: `METHOD /CALL/WHAT`, with a key or without. */
export class Desk implements AsyncDisposable {
  /** Calls of which it answers nothing that they read, until it is told to. */
  readonly holds = new Set<string>();
  /** A request is held. */
  onHeld: (name: string) => void = () => undefined;
  readonly #server = createServer((request, response) => this.#take(request, response));
  readonly #seen = new Map<string, string[]>();
  readonly #keys = new Map<string, string[]>();
  #held: (() => void)[] = [];

  static async open(): Promise<Desk> {
    const desk = new Desk();
    await once(desk.#server.listen(0, "127.0.0.1"), "listening");
    return desk;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** What a call has done, in its order: `POST order`, and ` #1` for the first of its keys. */
  seen(name: string): readonly string[] {
    return this.#seen.get(name) ?? [];
  }

  /** Answers all, and holds nothing any more. */
  release(): void {
    this.holds.clear();
    for (const answer of this.#held.splice(0)) answer();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await this.#server[Symbol.asyncDispose]();
  }

  #take({ method = "", url = "", headers }: IncomingMessage, response: ServerResponse): void {
    const [, name = "", what = ""] = url.split("/");
    const [key] = [headers["idempotency-key"]].flat();
    const mark = key === undefined ? "" : ` #${this.#numberOf(name, key)}`;
    this.#listOf(this.#seen, name).push(`${method} ${what}${mark}`);
    const answer = (): void => {
      const isJson = headers.accept?.includes("json") === true;
      response.setHeader("content-type", isJson ? "application/json" : "text/plain");
      response.end(isJson ? JSON.stringify({ did: `${method} ${name}` }) : `${method} ${name}`);
    };
    if (method !== "GET" || !this.holds.has(name)) return answer();
    this.#held.push(answer);
    this.onHeld(name);
  }

  #numberOf(name: string, key: string): number {
    const keys = this.#listOf(this.#keys, name);
    return keys.includes(key) ? keys.indexOf(key) + 1 : keys.push(key);
  }

  #listOf(lists: Map<string, string[]>, name: string): string[] {
    const list = lists.get(name) ?? [];
    lists.set(name, list);
    return list;
  }
}
