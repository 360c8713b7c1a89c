import { type ChildProcessByStdio, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Readable, Writable } from "node:stream";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createKey } from "../../src/server/access/secret.ts";
import { createEngine } from "../../src/glovebox/index.ts";
import { readSnapshot } from "../../src/cli/stats-feed.ts";
import { createServer as createGlovebox } from "../../src/server/http/server.ts";
import { MAIN } from "../server/served.ts";

const COMMAND = [process.execPath, ...MAIN];
const DEADLINE_MS = 100_000;
/** util-linux's: it gives a command a terminal of its own. */
const SCRIPT = "script";
const KEY = "a-key-for-metrics-and-for-nothing-else";

function snapshot(at: number): unknown {
  return {
    time: new Date(0).toISOString(),
    uptimeMs: 61_000,
    state: "open",
    calls: { perSecond: at, errorsPerSecond: 1, p50Ms: 1, p95Ms: 2, p99Ms: null },
    queued: 3,
    running: 4,
    executor: { kind: "process", ready: true, spareReady: true, rssBytes: 1024 ** 3, sandbox: { kind: "bubblewrap" } },
    isolates: { active: 1, warm: 2, blank: 3 },
    restarts: 5,
    quarantined: ["bad\u001b[2J"],
    tools: [
      { name: "busy", callsPerSecond: 9, errorsPerSecond: 0, cpuMsPerSecond: 1, p99Ms: 1 },
      { name: "hungry\u001b]0;title\u0007", callsPerSecond: 1, errorsPerSecond: 0, cpuMsPerSecond: 99, p99Ms: 1 },
    ],
    http: { connections: 6, streams: 7 },
  };
}

/** What a server answers that tells one more call a second with each event. */
function tell({ headers }: IncomingMessage, response: ServerResponse): void {
  if (!(headers.accept ?? "").includes("text/event-stream")) return void response.end(JSON.stringify(snapshot(41)));
  response.writeHead(200, { "content-type": "text/event-stream" });
  let at = 100;
  const send = (): void => void response.write(`data: ${JSON.stringify(snapshot(at++))}\n\n`);
  send();
  const timer = setInterval(send, 100);
  response.once("close", () => clearInterval(timer));
}

let server: Server;
let answer: typeof tell;
let url = "";
const asked: IncomingMessage[] = [];

beforeEach(async () => {
  asked.length = 0;
  answer = tell;
  server = createServer((request, response) => {
    asked.push(request);
    answer(request, response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterEach(async () => {
  server.closeAllConnections();
  server.close();
  await once(server, "close");
});

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the command where there is no terminal. */
async function top(args: readonly string[], env: Record<string, string> = {}): Promise<Ended> {
  const [program = "", ...flags] = COMMAND;
  const options = { timeout: DEADLINE_MS, env: { ...process.env, ...env } };
  return promisify(execFile)(program, [...flags, "top", "--url", url, ...args], options).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    (error: Ended) => error,
  );
}

describe("without a terminal", () => {
  test("it prints one snapshot and ends", async () => {
    const { code, stdout } = await top([]);
    expect(code).toBe(0);
    expect(stdout).toContain(`${url}   open   up 1m 1s`);
    expect(stdout).toMatch(/^calls +41\/s +1 errors\/s$/m);
    expect(stdout).toMatch(/^busy +9 +0 +1 +1\.00 ms$/m);
    expect(asked.length).toBe(1);
  });

  test("names that would command a terminal are shown", async () => {
    const { stdout } = await top(["--once"]);
    expect(stdout).not.toContain("\u001b");
    expect(stdout).toContain("bad\\u001b[2J");
  });

  test("it gives the snapshot as JSON, with no problems where the server tells none", async () => {
    expect(JSON.parse((await top(["--json"])).stdout)).toEqual({ problems: [], ...(snapshot(41) as object) });
  });

  test("it sends the key that the environment holds, and nobody else sees it", async () => {
    await top(["--key-env", "WATCH_KEY"], { WATCH_KEY: KEY });
    expect(asked[0]?.headers.authorization).toBe(`Bearer ${KEY}`);
    answer = (_request, response) => response.writeHead(302, { location: "http://127.0.0.1:1/" }).end();
    const { code, stdout, stderr } = await top(["--key-env", "WATCH_KEY"], { WATCH_KEY: KEY });
    expect(code).toBe(4);
    expect(stdout + stderr).not.toContain(KEY);
  });

  test.each([
    ["a status that refuses it", 401, "", /wants a key with the role metrics/],
    ["a server without stats", 404, "", /it has no stats, or is no server/],
    ["what is not JSON", 200, "<html>", /is no snapshot/],
    ["JSON that is something else", 200, '{"time": "now", "tools": {}}', /is no snapshot/],
    ["an answer without an end", 200, "x".repeat(2_000_000), /too long/],
  ])("%s is an error that says so", async (_what, status, body, message) => {
    answer = (_request, response) => response.writeHead(status).end(body);
    const reading = readSnapshot({ url: new URL(url), key: undefined });
    await expect(reading).rejects.toMatchObject({
      message: expect.stringMatching(message),
      exitCode: status === 401 ? 4 : 1,
    });
  });

  test("what is no address, or has a key in it, is refused before anything is sent", async () => {
    const wrong = [
      ["--url", "nowhere"],
      ["--url", url.replace("//", "//user:pass@")],
      ["--key-env", "NOT_THERE"],
    ];
    for (const args of wrong) expect((await top(args)).code).toBe(2);
    expect(asked).toEqual([]);
  });
});

/** The command on a terminal of its own. */
class Terminal {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;
  readonly ended: Promise<number | null>;
  readonly #deadline: NodeJS.Timeout;
  output = "";

  constructor(columns: number, rows: number) {
    const command = [...COMMAND, "top", "--url", url].map((part) => `'${part}'`).join(" ");
    const inside = `tty; stty cols ${columns} rows ${rows}; ${command}; echo "ended with $?"; stty -a`;
    this.#child = spawn(SCRIPT, ["-qec", inside, "/dev/null"], { stdio: ["pipe", "pipe", "ignore"] });
    this.#child.stdout.setEncoding("utf8").on("data", (text: string) => (this.output += text));
    this.ended = once(this.#child, "close").then(([code]) => code as number | null);
    this.#deadline = setTimeout(() => this.#child.kill("SIGKILL"), DEADLINE_MS);
  }

  press(keys: string): void {
    this.#child.stdin.write(keys);
  }

  async resize(columns: number, rows: number): Promise<void> {
    const device = /\/dev\/pts\/\d+/.exec(this.output)?.[0] ?? "";
    await promisify(execFile)("stty", ["-F", device, "cols", `${columns}`, "rows", `${rows}`]);
  }

  /** The lines of the last whole frame. */
  get frame(): readonly string[] {
    const frames = this.output.split("\u001b[H").slice(1);
    const whole = frames.findLast((frame) => frame.includes("\u001b[J"))?.split("\u001b[J")[0] ?? "";
    return whole.replaceAll("\u001b[K", "").split(/\r+\n/);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearTimeout(this.#deadline);
    this.#child.kill("SIGKILL");
    await this.ended;
  }
}

const WITHIN = { timeout: 120_000, interval: 50 };

test("it shows what a real server tells to a key for metrics", async () => {
  const engine = await createEngine({ workers: 1, executor: "threads" });
  await engine.register({ name: "add", description: "d", source: "export default ({ a, b }) => a + b;" });
  const { secret, hash } = createKey();
  const keys = [{ name: "watch", hash, tenant: null, roles: ["metrics" as const] }];
  await using real = await createGlovebox(engine, { port: 0, keys });
  const ended = new AbortController();
  const calling = (async () => {
    while (!ended.signal.aborted) await engine.execute({ name: "add", arguments: { a: 1, b: 2 } });
  })();
  const shown = await top(["--url", real.url, "--key-env", "WATCH_KEY"], { WATCH_KEY: secret });
  const refused = await top(["--url", real.url]);
  ended.abort();
  await calling;
  expect(shown.stdout).toMatch(/^executors +threads, ready/m);
  expect(shown.stdout).toMatch(/^add +[1-9]/m);
  expect(refused.code).toBe(4);
  expect(refused.stderr).toContain("wants a key with the role metrics");
});

describe("on a terminal", () => {
  test("it fills the screen, keeps it current, and gives it back at q", async () => {
    await using terminal = new Terminal(90, 24);
    await expect.poll(() => terminal.frame.length, WITHIN).toBe(24);
    const callsShown = (): number => Number(/^calls +(\d+)\/s/m.exec(terminal.frame.join("\n"))?.[1]);
    const first = callsShown();
    await expect.poll(callsShown, WITHIN).toBeGreaterThan(first + 2);
    for (const line of terminal.frame) expect(line.length).toBeLessThanOrEqual(90);
    terminal.press("q");
    await terminal.ended;
    expect(terminal.output).toContain("ended with 0");
    const [shown = "", after = ""] = terminal.output.split("\u001b[?1049l");
    expect(shown).toContain("\u001b[?1049h");
    // What it changed of the terminal is as it was: the cursor, lines that run on, keys that are echoed.
    expect(shown.endsWith("\u001b[?7h\u001b[?25h")).toBe(true);
    expect(after).toMatch(/(?:^|\s)echo\b/m);
    expect(after).toMatch(/(?:^|\s)icanon\b/m);
  });

  test("it sends the terminal no command of a tool's", async () => {
    await using terminal = new Terminal(90, 24);
    await expect.poll(() => terminal.frame.length, WITHIN).toBe(24);
    terminal.press("\u0003");
    await terminal.ended;
    for (const command of ["\u001b[2J", "\u001b]0;"]) expect(terminal.output).not.toContain(command);
    expect(terminal.output).toContain("hungry\\u001b]0;title\\u0007");
  });

  test("it is drawn anew when the terminal has another size, and in another order when asked", async () => {
    await using terminal = new Terminal(90, 24);
    await expect.poll(() => terminal.frame.length, WITHIN).toBe(24);
    await terminal.resize(60, 30);
    await expect.poll(() => terminal.frame.length, WITHIN).toBe(30);
    const tools = (): string => terminal.frame.flatMap((line) => /^(?:busy|hungry)/.exec(line)?.[0] ?? []).join();
    expect(tools()).toBe("busy,hungry");
    terminal.press("u");
    await expect.poll(tools, WITHIN).toBe("hungry,busy");
    for (const line of terminal.frame) expect(line.length).toBeLessThanOrEqual(60);
  });

  test("it says that the server is gone, and goes on when it is there again", async () => {
    await using terminal = new Terminal(90, 24);
    await expect.poll(() => terminal.frame.length, WITHIN).toBe(24);
    answer = (_request, response) => response.writeHead(503).end();
    server.closeAllConnections();
    await expect.poll(() => terminal.frame.at(-1), WITHIN).toContain("asking again");
    answer = tell;
    await expect.poll(() => terminal.frame.at(-1), WITHIN).toContain("q quits");
  });

  test("a server that never was there is an error, on the screen as it was", async () => {
    answer = (_request, response) => response.writeHead(401).end();
    await using terminal = new Terminal(90, 24);
    await terminal.ended;
    expect(terminal.output).toContain("ended with 4");
    expect(terminal.output.split("\u001b[?1049l")[1]).toContain("wants a key");
  });
});
