import { once } from "node:events";
import { connect } from "node:net";
import { createInterface } from "node:readline";
import type { RedisServer } from "./redis-server.ts";

/** Words of a command in a line of MONITOR, each in quotes, with the escapes of Redis. */
const WORD = /"((?:[^"\\]|\\.)*)"/g;
const ESCAPE = /\\(x([0-9a-f]{2})|.)/g;
const CONTROLS: ReadonlyMap<string, string> = new Map([
  ["n", "\n"],
  ["r", "\r"],
  ["t", "\t"],
  ["a", "\u0007"],
  ["b", "\b"],
]);

/**
 * Listens to all commands that a Redis is given, until it is disposed of. A connection of its own: the client takes
 * commands that arrive together with the reply to MONITOR for replies to commands of its own.
 */
export async function monitorRedis(
  { port }: Pick<RedisServer, "port">,
  onCommand: (words: readonly string[]) => void,
): Promise<Disposable> {
  const socket = connect(port, "127.0.0.1");
  socket.setEncoding("latin1");
  const lines = createInterface({ input: socket });
  const begun = once(lines, "line");
  lines.on("line", (line: string) => {
    const words = [...line.matchAll(WORD)].map(([, word = ""]) => wordOf(word));
    if (words.length > 0) onCommand(words);
  });
  socket.on("error", () => socket.destroy());
  socket.write("MONITOR\r\n");
  await begun;
  return { [Symbol.dispose]: () => socket.destroy() };
}

function wordOf(quoted: string): string {
  const bytes = quoted.replaceAll(ESCAPE, (_all, escaped: string, hex: string | undefined) =>
    hex === undefined ? (CONTROLS.get(escaped) ?? escaped) : String.fromCharCode(Number.parseInt(hex, 16)),
  );
  return Buffer.from(bytes, "latin1").toString();
}
