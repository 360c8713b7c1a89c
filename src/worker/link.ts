import { Socket } from "node:net";
import { StringDecoder } from "node:string_decoder";
import { LineReader, MESSAGE_MAX } from "../protocol/lines.ts";
import type { ServeTask } from "./settings.ts";

/** A worker's end of its link to the host. */
export interface Link {
  send(text: string): void;
  /** Hands over every line; `onPause` is called when all that has arrived is handled. */
  receive(onLine: (line: string) => void, onPause: () => void): void;
  /** Resolves when the host has closed the link. */
  readonly closed: Promise<void>;
}

export function openLink(link: ServeTask["link"]): Link {
  switch (link.kind) {
    case "pipe":
      return pipeLink(link.fd);
    case "port":
      return portLink(link.port);
  }
}

const READ_BYTES = 64 * 1024;

/** A pipe that was inherited: it reaches this thread without a hop through the process's main thread. */
function pipeLink(fd: number): Link {
  const reader = new LineReader(MESSAGE_MAX);
  const decoder = new StringDecoder("utf8");
  let receive = { onLine: (_line: string): void => undefined, onPause: (): void => undefined };
  const onread = {
    // One buffer for all reads: a stream of strings would make a new one for each.
    buffer: Buffer.allocUnsafeSlow(READ_BYTES),
    callback: (length: number, buffer: Uint8Array) => {
      reader.push(decoder.write(buffer.subarray(0, length)), receive.onLine);
      receive.onPause();
      return true;
    },
  };
  const socket = new Socket({ fd, readable: true, writable: true, onread });
  // An error is followed by `close`, which is all that matters here.
  socket.on("error", () => undefined);
  return {
    send: (text) => void socket.write(text),
    receive: (onLine, onPause) => {
      receive = { onLine, onPause };
      socket.resume();
    },
    closed: new Promise((resolve) => void socket.on("close", () => resolve())),
  };
}

function portLink(port: Extract<ServeTask["link"], { kind: "port" }>["port"]): Link {
  const reader = new LineReader(MESSAGE_MAX);
  return {
    send: (text) => port.postMessage(text),
    receive: (onLine, onPause) => {
      port.on("message", (chunk: string) => {
        reader.push(chunk, onLine);
        onPause();
      });
    },
    closed: new Promise((resolve) => void port.on("close", () => resolve())),
  };
}
