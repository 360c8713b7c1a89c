import { readFile } from "node:fs/promises";
import { stripTypeScriptTypes } from "node:module";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { once } from "node:events";

/** What h1spec says of one of its cases. */
export interface Verdict {
  readonly description: string;
  readonly passes: boolean;
  /** The rest of what it says, such as the status. */
  readonly said: string;
}

/** The part of Deno's connections that h1spec uses. */
interface Connection {
  readonly write: (bytes: Uint8Array) => Promise<number>;
  readonly read: (buffer: Uint8Array) => Promise<number | null>;
  readonly close: () => void;
}

/** h1spec waits half a second for an answer; a loaded machine may need longer. The server waits 15 s for the rest of a head. */
const PATIENCE = 12;
const VERDICT = /^(✅|❌) (.+?): (.*)$/s;
const SUMMARY = /\d+ out of (\d+) tests passed/;

/**
 * Runs h1spec's program, which is written for Deno, against a server. The program runs all of its cases at once, and prints
 * a line for each.
 */
export async function runSuite(folder: string, port: number): Promise<readonly Verdict[]> {
  const program = stripTypeScriptTypes(await readFile(join(folder, "http_test.ts"), "utf8"));
  const verdicts: Verdict[] = [];
  const { promise: count, resolve, reject } = Promise.withResolvers<number>();
  const say = (...words: readonly unknown[]): void => {
    const line = words.join(" ");
    const [, mark, description = "", said = ""] = VERDICT.exec(line) ?? [];
    const [, total] = SUMMARY.exec(line) ?? [];
    if (mark !== undefined) verdicts.push({ description, passes: mark === "✅", said });
    else if (total !== undefined) resolve(Number(total));
    else reject(new Error(line));
  };
  const deno = { args: ["127.0.0.1", `${port}`], connect: openConnection, exit: () => undefined };
  // oxlint-disable-next-line typescript/no-implied-eval -- the suite is a program, for another runtime
  const run = new Function("Deno", "console", "setTimeout", program) as (...globals: readonly unknown[]) => void;
  const wait = (callback: () => void, ms: number) => setTimeout(callback, PATIENCE * ms);
  run(deno, { log: say, error: say }, wait);
  if ((await count) !== verdicts.length) throw new Error("h1spec has not said what came of each case");
  return verdicts;
}

async function openConnection({ hostname, port }: { hostname: string; port: number }): Promise<Connection> {
  const socket = connect(port, hostname);
  await once(socket, "connect");
  // A server may reset a connection that it has answered.
  socket.on("error", () => undefined);
  return {
    write: async (bytes) => {
      socket.write(bytes);
      return bytes.length;
    },
    read: (buffer) => readInto(socket, buffer),
    close: () => socket.destroy(),
  };
}

/** Rejects, as in Deno, where the client itself closes the connection meanwhile. */
async function readInto(socket: Socket, buffer: Uint8Array): Promise<number | null> {
  const chunk = await new Promise<Buffer | null>((resolve, reject) => {
    socket.once("data", resolve);
    socket.once("end", () => resolve(null));
    socket.once("close", () => reject(new Error("the connection is closed")));
  });
  if (chunk === null) return null;
  const part = chunk.subarray(0, buffer.length);
  buffer.set(part);
  return part.length;
}
