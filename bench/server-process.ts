import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

const PROGRAM = fileURLToPath(new URL("baselines/http-servers.ts", import.meta.url));

export type ServerKind = "glovebox" | "fastify";

/** A server in a process of its own. */
export interface ServerProcess extends AsyncDisposable {
  readonly url: string;
  readonly pid: number;
}

/** Starts a server in a process of its own, so that it shares no thread with what measures it. */
export async function startServer(kind: ServerKind): Promise<ServerProcess> {
  const child = fork(PROGRAM, [kind], { execArgv: ["--no-node-snapshot", "--no-warnings"] });
  const ended = once(child, "exit");
  const [url] = (await Promise.race([once(child, "message"), ended])) as [unknown];
  if (typeof url !== "string") throw new Error(`the server "${kind}" has ended`);
  return {
    url,
    pid: child.pid ?? 0,
    async [Symbol.asyncDispose]() {
      if (child.connected) child.disconnect();
      await ended;
    },
  };
}
