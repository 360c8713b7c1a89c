/** A Prometheus of a test's own. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

const PROGRAM = "prometheus";
const START_MS = 120_000;
const ASK_MS = 5_000;

export interface Prometheus extends AsyncDisposable {
  /** Asks its API: `alerts`, `query?query=up`. Rejects where it does not answer. */
  readonly ask: <Data>(path: string) => Promise<Data>;
  /** The samples that an expression has now. */
  readonly query: (expr: string) => Promise<readonly Sample[]>;
  /** Where its API is. */
  readonly url: string;
}

export interface Sample {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: string;
}

/** Starts it with `prometheus.yml` of a folder, in which it keeps its data. Resolves once it answers. */
export async function startPrometheus(folder: string): Promise<Prometheus> {
  const args = ["--config.file=prometheus.yml", "--storage.tsdb.path=data", "--web.listen-address=127.0.0.1:0"];
  const child = spawn(PROGRAM, args, { stdio: ["ignore", "ignore", "pipe"], cwd: folder });
  const exit = once(child, "close");
  const end = async (): Promise<void> => {
    child.kill("SIGKILL");
    await exit;
  };
  const deadline = setTimeout(() => child.kill("SIGKILL"), START_MS);
  const said: string[] = [];
  let url = "";
  for await (const line of createInterface({ input: child.stderr })) {
    said.push(line);
    const address = /msg="Listening on" address=(\S+)/.exec(line)?.[1];
    if (address !== undefined) url = `http://${address}`;
    if (line.includes("ready to receive")) break;
  }
  clearTimeout(deadline);
  child.stderr.resume();
  if (url === "" || child.exitCode !== null || child.signalCode !== null) {
    await end();
    throw new Error(`Prometheus did not start: ${said.join("\n")}`);
  }
  const ask = async <Data>(path: string): Promise<Data> => {
    const response = await fetch(`${url}/api/v1/${path}`, { signal: AbortSignal.timeout(ASK_MS) });
    const { data } = (await response.json()) as { readonly data: Data };
    return data;
  };
  const query = async (expr: string): Promise<readonly Sample[]> => {
    interface Answer {
      readonly result: readonly { readonly metric: Record<string, string>; readonly value: [number, string] }[];
    }
    const { result } = await ask<Answer>(`query?query=${encodeURIComponent(expr)}`);
    return result.map(({ metric, value: [, value] }) => ({ metric, value }));
  };
  return { ask, query, url, [Symbol.asyncDispose]: end };
}
