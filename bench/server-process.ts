import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

const FLAGS = ["--no-node-snapshot", "--no-warnings"];

export type ServerKind = "glovebox" | "fastify" | "ajv" | "kilobyte";

/** A server in a process of its own. */
export interface ServerProcess extends AsyncDisposable {
  readonly url: string;
}

/** Starts a server in a process of its own, so that it shares no thread with what measures it. */
export async function startServer(kind: ServerKind): Promise<ServerProcess> {
  const { said, end } = await start("http-servers", [kind]);
  return { url: said, [Symbol.asyncDispose]: end };
}

/** Starts a flood of bad requests, that lasts until it is disposed of. */
export async function startFlood(port: number, concurrency: number): Promise<AsyncDisposable> {
  const { end } = await start("http-flood", [`${port}`, `${concurrency}`]);
  return { [Symbol.asyncDispose]: end };
}

/** Starts a program, which says something when it is ready, and ends when it is left alone. */
async function start(name: string, args: readonly string[]) {
  const program = fileURLToPath(new URL(`baselines/${name}.ts`, import.meta.url));
  const child = fork(program, args, { execArgv: FLAGS });
  const ended = once(child, "exit");
  const [said] = (await Promise.race([once(child, "message"), ended])) as [unknown];
  if (typeof said !== "string") throw new Error(`the program "${name}" has ended`);
  const end = async (): Promise<void> => {
    if (child.connected) child.disconnect();
    await ended;
  };
  return { said, end };
}
