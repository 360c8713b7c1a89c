import { Socket } from "node:net";
import { LineReader } from "../protocol/lines.ts";
import { MESSAGE_MAX, type ServeTask } from "./settings.ts";

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

/** A pipe that was inherited: it reaches this thread without a hop through the process's main thread. */
function pipeLink(fd: number): Link {
  const socket = new Socket({ fd, readable: true, writable: true });
  socket.setEncoding("utf8");
  // An error is followed by `close`, which is all that matters here.
  socket.on("error", () => undefined);
  const reader = new LineReader(MESSAGE_MAX);
  return {
    send: (text) => void socket.write(text),
    receive: (onLine, onPause) => {
      socket.on("data", (chunk: string) => {
        reader.push(chunk, onLine);
        onPause();
      });
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
