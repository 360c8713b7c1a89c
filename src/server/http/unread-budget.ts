import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { FastifyInstance, FastifyRequest } from "fastify";

declare module "fastify" {
  interface FastifyInstance {
    /** Budget of responses that wait for their clients. */
    unread?: UnreadBudget;
  }
}

/** Shorter texts are not counted: the system's buffers take them, and connection limits bound their number. */
const COUNTED_FROM = 16 * 1024;
const RELEASED = (): void => undefined;

/** A request, with its sender. */
export type Sender = Pick<FastifyRequest, "raw" | "caller" | "ip">;

/** Share of the budget that one connection holds. */
interface Holding {
  readonly owner: string;
  length: number;
}

/**
 * Memory budget of all responses that wait for their clients, or for the rest of their batch. Beyond it, the owner that
 * holds most loses the connection that holds most: clients that do not read fill the budget only for themselves.
 * Lengths are UTF-16 units.
 */
export class UnreadBudget {
  readonly #max: number;
  #length = 0;
  readonly #owners = new Map<string, number>();
  /** Longest holders first. */
  readonly #connections = new Map<Socket, Holding>();

  constructor(max: number) {
    this.#max = max;
  }

  /** Counts a text until the returned function is called, or its connection closes. */
  hold(sender: Sender, length: number): () => void {
    const { socket } = sender.raw;
    if (length < COUNTED_FROM || socket.destroyed) return RELEASED;
    const holding = this.#connections.get(socket) ?? this.#open(socket, ownerOf(sender));
    this.#add(holding, length);
    while (this.#length > this.#max) this.#dropOne();
    return () => {
      if (this.#connections.get(socket) !== holding) return;
      this.#add(holding, -length);
      if (holding.length === 0) this.#connections.delete(socket);
    };
  }

  /** Counts a text until its response is complete, or its connection closes. */
  holdUntilSent(response: ServerResponse, sender: Sender, length: number): void {
    if (length >= COUNTED_FROM) response.once("close", this.hold(sender, length));
  }

  #open(socket: Socket, owner: string): Holding {
    const holding = { owner, length: 0 };
    this.#connections.set(socket, holding);
    // A pipelined response that waits for others has no event of its own.
    socket.once("close", () => this.#forget(socket));
    return holding;
  }

  #forget(socket: Socket): void {
    const holding = this.#connections.get(socket);
    if (holding === undefined) return;
    this.#connections.delete(socket);
    this.#add(holding, -holding.length);
  }

  #add(holding: Holding, length: number): void {
    holding.length += length;
    this.#length += length;
    const total = (this.#owners.get(holding.owner) ?? 0) + length;
    if (total === 0) this.#owners.delete(holding.owner);
    else this.#owners.set(holding.owner, total);
  }

  #dropOne(): void {
    const [heaviest] = [...this.#owners].reduce((one, other) => (other[1] > one[1] ? other : one));
    const own = [...this.#connections].filter(([, { owner }]) => owner === heaviest);
    const [socket] = own.reduce((one, other) => (other[1].length > one[1].length ? other : one));
    this.#forget(socket);
    socket.destroy();
  }
}

/** Limits the responses of an app that their clients have not read. */
export function limitUnread(app: FastifyInstance, max: number): void {
  const budget = new UnreadBudget(max);
  app.decorate("unread", budget);
  app.addHook("onSend", (request, { raw }, payload, next) => {
    if (typeof payload === "string") budget.holdUntilSent(raw, request, payload.length);
    next();
  });
}

/** The tenant, or the key without one; without keys the address. */
export function ownerOf({ caller, ip }: Omit<Sender, "raw">): string {
  return caller === null || caller.key === null ? JSON.stringify([ip]) : JSON.stringify(caller.tenant ?? [caller.key]);
}
