import type { SimThread, World } from "./world.ts";

/** The end of a pipe where texts arrive. */
export interface PipeEnd {
  readonly thread: SimThread;
  onText(text: string): void;
  onClose(): void;
}

/** One way of a connection: what is written arrives in order, some time later, in pieces that may end anywhere. */
export class SimPipe {
  readonly #world: World;
  readonly #name: string;
  readonly #end: PipeEnd;
  #text = "";
  #isScheduled = false;
  #isEnded = false;
  #isClosed = false;

  constructor(world: World, name: string, end: PipeEnd) {
    this.#world = world;
    this.#name = name;
    this.#end = end;
  }

  write(text: string): void {
    if (this.#isEnded || this.#isClosed || text === "") return;
    if (!this.#world.current.isAlive) return;
    this.#text += text;
    this.#schedule();
  }

  /** The writer is gone. `isTorn`: what it wrote last got only so far. */
  end(isTorn = false): void {
    if (this.#isEnded || this.#isClosed) return;
    this.#isEnded = true;
    if (isTorn) this.#text = this.#text.slice(0, this.#world.random.below(this.#text.length + 1));
    this.#schedule();
  }

  /** The reader is gone. */
  close(): void {
    this.#isClosed = true;
    this.#text = "";
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    const { random } = this.#world;
    const delayMs = random.chance(0.05) ? random.between(0.5, 15) : random.between(0.02, 0.3);
    this.#world.later(this.#end.thread, delayMs, "", () => this.#deliver());
  }

  #deliver(): void {
    this.#isScheduled = false;
    if (this.#isClosed) return;
    const { random } = this.#world;
    const text = this.#text;
    if (text !== "") {
      const length = random.chance(0.15) ? 1 + random.below(text.length) : text.length;
      this.#text = text.slice(length);
      const piece = text.slice(0, length);
      if (this.#world.trace !== null) this.#world.note(`${this.#name} ${JSON.stringify(shortened(piece))}`);
      if (this.#text !== "" || this.#isEnded) this.#schedule();
      return this.#end.onText(piece);
    }
    if (!this.#isEnded) return;
    this.#isClosed = true;
    if (this.#world.trace !== null) this.#world.note(`${this.#name} closed`);
    this.#end.onClose();
  }
}

const SHOWN = 400;

function shortened(text: string): string {
  return text.length <= SHOWN ? text : `${text.slice(0, SHOWN)}… (${text.length})`;
}

/** A message port's way: messages arrive whole, in order, and soon. */
export class SimPort<Message> {
  readonly #world: World;
  readonly #name: string;
  readonly #thread: SimThread;
  readonly #receive: (message: Message) => void;
  #lastMs = 0;

  constructor(world: World, name: string, thread: SimThread, receive: (message: Message) => void) {
    this.#world = world;
    this.#name = name;
    this.#thread = thread;
    this.#receive = receive;
  }

  post(message: Message): void {
    const world = this.#world;
    if (!world.current.isAlive) return;
    // Never before the one before it.
    const atMs = Math.max(this.#lastMs, world.timeMs + world.random.between(0.01, 0.5));
    this.#lastMs = atMs;
    const what = world.trace === null ? "" : `${this.#name} ${shortened(JSON.stringify(message))}`;
    world.at(this.#thread, atMs, what, () => this.#receive(message));
  }
}
