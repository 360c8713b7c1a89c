/** A server whom tools tell what they do: an effect that happens twice is counted twice. */
import { once } from "node:events";
import { createServer } from "node:http";

/** How it answers: at once; not for a while; with what is no answer; not at all. */
export type Manner = "well" | "late" | "garbage" | "cut";

const LATE_MS = 30_000;

export interface Counter extends AsyncDisposable {
  readonly origin: string;
  readonly port: number;
  /** How often each key was told. */
  readonly told: ReadonlyMap<string, number>;
  manner: Manner;
}

export async function startCounter(): Promise<Counter> {
  const told = new Map<string, number>();
  const late = new Set<NodeJS.Timeout>();
  const server = createServer((request, response) => {
    if (counter.manner === "cut") return void request.socket.destroy();
    const [, word = "", key = ""] = (request.url ?? "").split("/");
    if (word === "tell") told.set(key, (told.get(key) ?? 0) + 1);
    if (counter.manner === "garbage") return void request.socket.end("\0\0 this is not HTTP \0\0\r\n\r\n");
    if (counter.manner === "late") return void late.add(setTimeout(() => response.end("late"), LATE_MS));
    response.end("told");
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const counter: Counter = {
    origin: `http://127.0.0.1:${port}`,
    port,
    told,
    manner: "well",
    [Symbol.asyncDispose]: async () => {
      for (const timer of late) clearTimeout(timer);
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
  return counter;
}
