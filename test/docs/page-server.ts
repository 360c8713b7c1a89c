/** The servers that pages speak of. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { FLAGS, ROOT } from "./linked-folder.ts";

/** Where pages say that a server listens. */
export const ADDRESS = "http://127.0.0.1:8080";
export const SERVE = /^npx glovebox serve\b/;

export interface PageServer extends AsyncDisposable {
  readonly url: string;
}

/** A page's server: the command that it names, on any port, in the page's folder; without one the samples' server. */
export async function startServer(path: string, command: string): Promise<PageServer> {
  const args = command.replace(SERVE, "").match(/\S+/g) ?? [];
  const line = [...FLAGS, `${ROOT}/src/cli/main.ts`, "serve", ...args, "--port", "0"];
  const server = spawn(process.execPath, line, {
    cwd: args.length === 0 ? ROOT : path,
    stdio: ["ignore", "pipe", "ignore"],
  });
  const [said] = (await once(createInterface({ input: server.stdout }), "line")) as [string];
  return {
    url: /http:\S+/.exec(said)?.[0] ?? "",
    [Symbol.asyncDispose]: async () => {
      const ended = once(server, "exit");
      server.kill("SIGTERM");
      await ended;
    },
  };
}
