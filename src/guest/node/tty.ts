import { library, type NodeModule } from "./inner/library.ts";

/** `node:tty`: there is no terminal. */
function ReadStream(): never {
  throw library.refusal("tty", "ReadStream");
}
function WriteStream(): never {
  throw library.refusal("tty", "WriteStream");
}

export const shared: NodeModule = { isatty: () => false, ReadStream, WriteStream };
