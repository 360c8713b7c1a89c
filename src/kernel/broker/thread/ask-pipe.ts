import type { Socket } from "node:net";
import type { MessagePort } from "node:worker_threads";

/** Receives the broker's messages about a worker's pipe. */
export interface AskPipeListener {
  /** The broker does not know a call that made a capability call. */
  onWho(callNumber: number, attempt: number): void;
  /** That attempt of a call does not repeat the capability calls of an earlier one. */
  onDiverged(callNumber: number, attempt: number, message: string): void;
  /** The worker sent an invalid message. */
  onBroken(error: Error): void;
}

/** A worker's pipe to the broker, as the engine's thread has it: without access to the messages in it. */
export interface AskPipe {
  /** Its number; `null` if the broker has ended: then capability calls come by the worker's pipe to the engine. */
  readonly openNumber: number | null;
  listen(listener: AskPipeListener): void;
  /** The answer to `onWho` if that attempt of the call no longer runs there. */
  refuse(callNumber: number, attempt: number): void;
  close(): void;
}

/** The worker's end of a new pipe: passed to its process, and then closed here. The worker sends `hello` first. */
export interface ConnectedPipe {
  readonly pipe: AskPipe;
  readonly socket: Socket;
  readonly hello: string;
}

/** Opens pipes of workers to the broker; `null` if the broker does not run, or is a process that no port reaches. */
export interface AskPipes {
  /** Resolves when pipes can be opened, or none will be. */
  ready(): Promise<void>;
  /** Whether processes without pipes should be replaced by processes with pipes. */
  readonly areWanted: boolean;
  connect(): ConnectedPipe | null;
  channel(): { readonly pipe: AskPipe; readonly port: MessagePort } | null;
}
