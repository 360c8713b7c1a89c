import type { Socket } from "node:net";
import type { MessagePort } from "node:worker_threads";

/** Receives what the broker tells of a worker's pipe. */
export interface AskPipeListener {
  /** A call asks that the broker does not know. */
  onWho(callNumber: number, attempt: number): void;
  /** That attempt of a call does not repeat what the call did in an earlier one. */
  onDiverged(callNumber: number, attempt: number, message: string): void;
  /** The worker sent what no worker sends. */
  onBroken(error: Error): void;
}

/** A worker's pipe to the broker, as the engine's thread has it: it hears nothing of what passes there. */
export interface AskPipe {
  /** Its number; `null` where the broker has ended: then capability calls come by the worker's pipe to the engine. */
  readonly openNumber: number | null;
  listen(listener: AskPipeListener): void;
  /** The answer to `onWho` where that attempt of the call does not run there any more. */
  refuse(callNumber: number, attempt: number): void;
  close(): void;
}

/** The worker's end of a new pipe: to be given to its process, and then closed here; the worker says `hello` first. */
export interface ConnectedPipe {
  readonly pipe: AskPipe;
  readonly socket: Socket;
  readonly hello: string;
}

/** Opens pipes of workers to the broker; `null` where the broker does not run, or is a process that no port reaches. */
export interface AskPipes {
  /** Resolves when pipes can be opened, or none will be. */
  ready(): Promise<void>;
  /** Whether processes without pipes would be better replaced by such with pipes. */
  readonly areWanted: boolean;
  connect(): ConnectedPipe | null;
  channel(): { readonly pipe: AskPipe; readonly port: MessagePort } | null;
}
