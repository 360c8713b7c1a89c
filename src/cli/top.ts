import type { WriteStream } from "node:tty";
import { print, printJson, visible } from "./output.ts";
import { setTimeout as delay } from "node:timers/promises";
import { Command } from "commander";
import { type RemoteServer, remoteServer } from "./remote-server.ts";
import type { Snapshot } from "./stats-feed.ts";
import type { TopOrder, TopView } from "./top-view.ts";

interface Options {
  readonly url: string;
  readonly keyEnv?: string;
  readonly once?: true;
  readonly json?: true;
}

const AGAIN_AFTER_MS = 1_000;
/** Maximum number of snapshots (seconds) in the charts; no terminal is wider. */
const HISTORY_MAX = 1_000;
const SIGNALS = ["SIGTERM", "SIGINT", "SIGHUP"] as const;
const ORDERS: ReadonlyMap<string, TopOrder> = new Map([
  ["c", "calls"],
  ["u", "cpu"],
  ["e", "errors"],
]);
/** In raw mode Ctrl-C and Ctrl-D arrive as ordinary keys. */
const QUIT: ReadonlySet<string> = new Set(["q", "Q", "\u0003", "\u0004"]);

/** `glovebox top`: a live view of a server. */
export function topCommand(): Command {
  return new Command("top")
    .description("show a live view of a server's calls, tools and executors")
    .option("--url <url>", "the server's address", "http://127.0.0.1:8080")
    .option("--key-env <name>", "environment variable with a key that has the role metrics")
    .option("--once", "print one snapshot and exit (the default where stdout is not a terminal)")
    .option("--json", "print one snapshot as JSON")
    .action(top);
}

async function top({ url, keyEnv, once, json }: Options): Promise<void> {
  const server = remoteServer(url, keyEnv);
  const { readSnapshot } = await import("./stats-feed.ts");
  if (json === true) return printJson(await readSnapshot(server));
  if (once !== true && process.stdout.isTTY) return watch(server);
  const { describeSnapshot } = await import("./top-view.ts");
  for (const line of describeSnapshot(await readSnapshot(server), server.url.origin)) print(line);
}

/** Shows snapshots until the user quits. Reconnects to a server that was lost; fails if the first connection fails. */
async function watch(server: RemoteServer): Promise<void> {
  const [{ followSnapshots }, { renderTop }] = await Promise.all([import("./stats-feed.ts"), import("./top-view.ts")]);
  const { stdout } = process;
  const history: Snapshot[] = [];
  let order: TopOrder = "calls";
  let problem: string | null = null;
  const quit = new AbortController();
  using screen = new Screen(stdout);
  const draw = (): void => {
    const snapshot = history.at(-1);
    const view: TopView = { origin: server.url.origin, ...sizeOf(stdout), order, history, problem };
    screen.draw(snapshot === undefined ? [`asking ${server.url.origin}`] : renderTop(snapshot, view));
  };
  using _input = listen(quit, draw, (chosen) => {
    order = chosen;
    draw();
  });
  draw();
  while (!quit.signal.aborted) {
    try {
      for await (const snapshot of followSnapshots(server, quit.signal)) {
        history.push(snapshot);
        if (history.length > HISTORY_MAX) history.shift();
        problem = null;
        draw();
      }
      problem = "the server has ended; asking again";
    } catch (error) {
      if (quit.signal.aborted) return;
      if (history.length === 0) throw error;
      problem = `${error instanceof Error ? error.message : String(error)}; asking again`;
    }
    draw();
    await delay(AGAIN_AFTER_MS, undefined, { signal: quit.signal }).catch(() => undefined);
  }
}

/** Size of a terminal, which reports 0 if it is unknown. */
function sizeOf({ columns, rows }: WriteStream): Pick<TopView, "columns" | "rows"> {
  return { columns: columns || 80, rows: rows || 24 };
}

/** Listens for keys, resizes and signals. */
function listen(quit: AbortController, onResize: () => void, onOrder: (order: TopOrder) => void): Disposable {
  const { stdin, stdout } = process;
  const onKeys = (keys: Buffer): void => {
    for (const key of keys.toString("latin1")) {
      const order = ORDERS.get(key.toLowerCase());
      if (QUIT.has(key)) quit.abort();
      else if (order !== undefined) onOrder(order);
    }
  };
  const end = (): void => quit.abort();
  stdout.on("resize", onResize);
  for (const signal of SIGNALS) process.on(signal, end);
  if (stdin.isTTY) stdin.setRawMode(true).on("data", onKeys).resume();
  return {
    [Symbol.dispose]: () => {
      stdout.off("resize", onResize);
      for (const signal of SIGNALS) process.off(signal, end);
      if (stdin.isTTY) stdin.setRawMode(false).off("data", onKeys).pause();
    },
  };
}

const ESCAPE = "\u001b[";
/** Alternate screen, hidden cursor, no line wrap. */
const ENTER = `${ESCAPE}?1049h${ESCAPE}?25l${ESCAPE}?7l`;
const LEAVE = `${ESCAPE}?7h${ESCAPE}?25h${ESCAPE}?1049l`;
const HOME = `${ESCAPE}H`;
const REST_OF_LINE = `${ESCAPE}K`;
const REST_OF_SCREEN = `${ESCAPE}J`;

/** Takes over the terminal's screen until disposed. */
class Screen implements Disposable {
  readonly #out: WriteStream;

  constructor(out: WriteStream) {
    this.#out = out;
    out.write(ENTER);
  }

  /** Replaces the content. Control characters are escaped. */
  draw(lines: readonly string[]): void {
    const width = this.#out.columns || 80;
    const drawn = lines.map((line) => `${visible(line).slice(0, width)}${REST_OF_LINE}`);
    this.#out.write(`${HOME}${drawn.join("\r\n")}${REST_OF_SCREEN}`);
  }

  [Symbol.dispose](): void {
    this.#out.write(LEAVE);
  }
}
