import { EventEmitter } from "./events.ts";
import { callable, rootOf } from "./inner/callable.ts";
import { isEmitter, on } from "./inner/event-promises.ts";
import { library, type NodeModule } from "./inner/library.ts";
import { StringDecoder } from "./inner/string-decoder.ts";

/** `node:readline`: the lines of a stream. There is no terminal, and no user to answer a question. */

interface Input {
  on(event: string, listener: (value: never) => void): void;
  removeListener(event: string, listener: (value: never) => void): void;
  pause?(): void;
  resume?(): void;
}

interface Emitter {
  emit(event: string, ...args: readonly unknown[]): boolean;
}
const Emitter = rootOf(EventEmitter) as unknown as new () => Emitter;
const Decoder = StringDecoder as unknown as new (encoding: string) => { write(chunk: unknown): string; end(): string };

const ENDING = /\r?\n|\r(?!\n)|\u2028|\u2029/;

class Interface extends Emitter {
  readonly terminal = false;
  line = "";
  closed = false;
  readonly input: Input;
  #prompt = "> ";
  #endsInReturn = false;
  readonly #decoder = new Decoder("utf8");
  readonly #data = (chunk: unknown): void => this.#take(typeof chunk === "string" ? chunk : this.#decoder.write(chunk));
  readonly #error = (error: unknown): void => void this.emit("error", error);
  readonly #end = (): void => {
    this.#take(this.#decoder.end());
    const last = this.line;
    this.line = "";
    if (last !== "") this.emit("line", last);
    this.close();
  };

  constructor(options: unknown) {
    super();
    const given = options as { input?: unknown; prompt?: unknown; signal?: AbortSignal } | undefined;
    const input = isEmitter(options) ? options : given?.input;
    if (!isEmitter(input)) throw library.refusal("readline", "createInterface");
    this.input = input as unknown as Input;
    if (typeof given?.prompt === "string") this.#prompt = given.prompt;
    this.input.on("data", this.#data);
    this.input.on("end", this.#end);
    this.input.on("error", this.#error);
    given?.signal?.addEventListener("abort", () => this.close(), { once: true });
    if (given?.signal?.aborted === true) this.close();
    else this.input.resume?.();
  }

  /** A line's end may come in two chunks. */
  #take(text: string): void {
    const rest = this.#endsInReturn && text.startsWith("\n") ? text.slice(1) : text;
    if (text !== "") this.#endsInReturn = text.endsWith("\r");
    // The line so far has no line break: only the new text is searched.
    const [first = "", ...more] = rest.split(ENDING);
    this.line += first;
    for (const next of more) {
      const whole = this.line;
      this.line = next;
      this.emit("line", whole);
    }
  }

  close(): void {
    if (this.closed) return;
    this.pause();
    this.closed = true;
    this.input.removeListener("data", this.#data);
    this.input.removeListener("end", this.#end);
    this.input.removeListener("error", this.#error);
    this.emit("close");
  }

  pause(): this {
    this.input.pause?.();
    this.emit("pause");
    return this;
  }

  resume(): this {
    this.input.resume?.();
    this.emit("resume");
    return this;
  }

  setPrompt(prompt: string): void {
    this.#prompt = prompt;
  }

  getPrompt(): string {
    return this.#prompt;
  }

  prompt(): void {}

  write(): never {
    throw library.refusal("readline", "Interface.write");
  }

  question(): never {
    throw library.refusal("readline", "Interface.question");
  }

  [Symbol.asyncIterator](): AsyncIterableIterator<string> {
    const lines = on(this, "line", { close: ["close"] });
    const line = async (): Promise<IteratorResult<string>> => {
      const { done, value } = (await lines.next()) as IteratorResult<readonly string[], undefined>;
      return done === true ? { done, value: undefined } : { done: false, value: value?.[0] ?? "" };
    };
    const iterator = {
      next: line,
      return: async (): Promise<IteratorResult<string>> => {
        this.close();
        await lines.return?.();
        return { done: true, value: undefined };
      },
      [Symbol.asyncIterator]: () => iterator,
    };
    return iterator;
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

const exported = callable(Interface);
/** With its parameters in either form. */
const createInterface = (options: unknown): object => new exported(options);

export const shared: NodeModule = {
  Interface: exported,
  createInterface,
  promises: { Interface: exported, createInterface },
};
