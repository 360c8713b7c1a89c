import { parentPort } from "node:worker_threads";

/** The way from the broker's thread or process to the engine. */
export interface EnginePort {
  onMessage(receive: (message: unknown) => void): void;
  /** `moved`: memory in the message that this thread needs no more. */
  post(message: unknown, moved?: readonly ArrayBuffer[]): void;
  close(): void;
}

/** The port of this thread, or of this process. */
export function openEnginePort(): EnginePort {
  const port = parentPort;
  if (port === null) return processPort();
  return {
    onMessage: (receive) => void port.on("message", receive),
    post: (message, moved = []) => port.postMessage(message, [...moved]),
    close: () => port.close(),
  };
}

function processPort(): EnginePort {
  const send = process.send?.bind(process);
  if (send === undefined) throw new TypeError("the broker is started by an engine");
  // The engine's process has ended: no answer is needed, and nothing else ends this process.
  process.once("disconnect", () => process.exit());
  return {
    onMessage: (receive) => void process.on("message", receive),
    post: (message) => void (process.connected && send(message, undefined, undefined, () => undefined)),
    close: () => void (process.connected && process.disconnect?.()),
  };
}
