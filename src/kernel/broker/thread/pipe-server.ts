import { rmSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { StringDecoder } from "node:string_decoder";
import type { MessagePort } from "node:worker_threads";
import { TemporaryFolders } from "../capabilities/temporary.ts";
import { type PipeListener, type PipeTransport, WorkerPipe } from "./worker-pipe.ts";

/** Time for a connection to identify itself, in milliseconds, and the maximum length of that text. */
const HELLO_MS = 60_000;
const HELLO_LENGTH = 256;

/** A connection of a worker. */
export type PipeSocket = Pick<Socket, "write" | "destroy"> & {
  on(event: "data", listener: (chunk: Buffer) => void): unknown;
  on(event: "close" | "error", listener: () => void): unknown;
};

/**
 * Accepts the pipes of workers. Only the supervisor of an executor process connects, by a name in a folder that only
 * this user may enter, and passes the connection on: the sandbox has no path to it. The worker identifies itself first.
 */
export class PipeServer {
  /** `null` until the broker serves: connections wait. */
  #listener: PipeListener | null = null;
  readonly #early: PipeSocket[] = [];
  /** Numbers of pipes by the words with which they begin. */
  readonly #expected = new Map<string, number>();
  readonly #folders = new TemporaryFolders("broker");
  readonly #sockets = new Set<PipeSocket>();
  #server: Server | null = null;
  #folder: string | null = null;

  /** Begins to serve pipes. */
  serve(listener: PipeListener): void {
    this.#listener = listener;
    for (const socket of this.#early.splice(0)) this.#greet(socket, listener);
  }

  /** Resolves with the name by which it can be reached. */
  async listen(): Promise<string> {
    const folder = await this.#folders.make();
    this.#folder = folder;
    const path = join(folder, "s");
    const server = createServer((socket) => this.accept(socket));
    this.#server = server;
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(path, resolve);
    });
    server.on("error", () => undefined);
    return path;
  }

  /** Takes over a connection, which identifies itself first. */
  accept(socket: PipeSocket): void {
    this.#sockets.add(socket);
    socket.on("error", () => undefined);
    if (this.#listener === null) this.#early.push(socket);
    else this.#greet(socket, this.#listener);
  }

  /** Expects a pipe that will begin with this word. */
  expect(hello: string, number: number): void {
    this.#expected.set(hello, number);
  }

  /** Takes over a port. A worker of this process has its other end. */
  adopt(port: MessagePort, number: number): void {
    const listener = this.#listener;
    listener?.onOpen(new WorkerPipe(number, portTransport(port), listener));
  }

  close(): void {
    this.#server?.close();
    for (const socket of this.#sockets) socket.destroy();
    if (this.#folder !== null) rmSync(this.#folder, { recursive: true, force: true });
  }

  #greet(socket: PipeSocket, listener: PipeListener): void {
    const timer = setTimeout(() => socket.destroy(), HELLO_MS);
    let onText: ((text: string) => void) | null = null;
    let onClose = (): void => undefined;
    let head = "";
    const decoder = new StringDecoder("utf8");
    socket.on("close", () => {
      clearTimeout(timer);
      this.#sockets.delete(socket);
      onClose();
    });
    socket.on("data", (chunk: Buffer) => {
      const text = decoder.write(chunk);
      if (onText !== null) return onText(text);
      head += text;
      const end = head.indexOf("\n");
      if (end < 0 && head.length <= HELLO_LENGTH) return;
      clearTimeout(timer);
      const hello = head.slice(0, Math.max(0, end));
      const number = this.#expected.get(hello);
      this.#expected.delete(hello);
      if (number === undefined) return socket.destroy();
      const transport: PipeTransport = {
        write: (written) => void socket.write(written),
        onText: (handler) => (onText = handler),
        onClose: (handler) => (onClose = handler),
        close: () => socket.destroy(),
      };
      listener.onOpen(new WorkerPipe(number, transport, listener));
      const rest = head.slice(end + 1);
      if (rest !== "") (onText as ((text: string) => void) | null)?.(rest);
    });
  }
}

function portTransport(port: MessagePort): PipeTransport {
  return {
    write: (text) => port.postMessage(text),
    onText: (handler) => void port.on("message", handler),
    onClose: (handler) => void port.on("close", handler),
    close: () => port.close(),
  };
}
