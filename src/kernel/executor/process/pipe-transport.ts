import type { Duplex } from "node:stream";
import type { Transport } from "../dispatch/worker-connection.ts";

/**
 * Length of a read from which the pipe probably holds more, in UTF-16 units: a read has 64 KiB at most, and a character
 * up to three bytes a unit. Batches of short replies are shorter.
 */
const FULL = 21_000;

/** The host's end of a worker's pipe. A worker that writes without end gets one read in each turn of the event loop. */
export function pipeTransport(pipe: Duplex): Transport {
  pipe.setEncoding("utf8");
  // A broken pipe is followed by the process's exit, which is handled.
  pipe.on("error", () => undefined);
  return {
    write: (text) => void pipe.write(text),
    onText: (handler) =>
      void pipe.on("data", (text: string) => {
        handler(text);
        if (text.length < FULL) return;
        // Otherwise up to 32 reads would follow each other.
        pipe.pause();
        setImmediate(() => void pipe.resume());
      }),
    close: () => void pipe.destroy(),
  };
}
