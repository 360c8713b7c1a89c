import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, readdirSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { executors, isAlive } from "../processes.ts";
import { keepSending, type Tally } from "../server/http/http-clients.ts";
import { SERVE } from "../server/served.ts";

const WAIT_MS = 120_000;
const FD = 3;

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "glovebox-restart-"));
  const spec = '{ name: "work", description: "Works." }';
  writeFileSync(
    join(folder, "work.js"),
    `export const spec = ${spec};\nexport default async () => ({ worked: true });`,
  );
});

afterAll(() => rmSync(folder, { recursive: true }));

async function until(isTrue: () => boolean): Promise<void> {
  const untilMs = performance.now() + WAIT_MS;
  while (!isTrue()) {
    if (performance.now() > untilMs) throw new Error("it did not come to that");
    await delay(20);
  }
}

/** A socket that listens and from which nobody takes connections, as a service manager holds one. */
interface Held extends AsyncDisposable {
  readonly port: number;
  /** What the system calls it. */
  readonly name: string;
  /** Starts a service that is handed the socket, and answers its process when it listens. */
  serve(): Promise<number>;
  /** Its exit code, once it has ended. */
  exitOf(pid: number): Promise<number>;
}

/** Node takes connections from whatever it listens on. A shell does not, and what it starts has its descriptors. */
async function holdSocket(): Promise<Held> {
  const listener = createServer().listen(0, "127.0.0.1");
  await once(listener, "listening");
  const address = listener.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const handle: unknown = Reflect.get(listener, "_handle");
  const fd: unknown = typeof handle === "object" && handle !== null ? Reflect.get(handle, "fd") : undefined;
  if (typeof fd !== "number") throw new Error("there is no descriptor");
  const shell = spawn("sh", [], { stdio: ["pipe", "pipe", "ignore", fd] });
  listener.close();
  const { stdin, stdout } = shell;
  if (stdin === null || stdout === null) throw new Error("the shell has no pipes");
  const lines = createInterface({ input: stdout })[Symbol.asyncIterator]();
  const ask = async (command: string): Promise<number> => {
    stdin.write(`${command}\n`);
    return Number((await lines.next()).value);
  };
  const pids: number[] = [];
  return {
    port,
    name: readlinkSync(`/proc/${shell.pid}/fd/${FD}`),
    serve: async () => {
      const out = join(folder, `out-${pids.length}`);
      const service = [process.execPath, ...SERVE, "--tools", folder].map((word) => `'${word}'`).join(" ");
      const pid = await ask(`LISTEN_FDS=1 sh -c 'LISTEN_PID=$$ exec "$0" "$@"' ${service} >${out} 2>&1 & echo $!`);
      pids.push(pid);
      await until(
        () =>
          (existsSync(out) && readFileSync(out, "utf8").includes(`listening on http://127.0.0.1:${port}`)) ||
          !isAlive(pid),
      );
      return pid;
    },
    exitOf: (pid) => ask(`wait ${pid}; echo $?`),
    [Symbol.asyncDispose]: async () => {
      for (const pid of pids.filter(isAlive)) process.kill(pid, "SIGKILL");
      shell.kill("SIGKILL");
      await once(shell, "exit");
    },
  };
}

test("a service hands its socket over to the next one under load, and no request fails", async () => {
  await using held = await holdSocket();
  const tally: Tally = { answered: 0, unbegun: 0, failed: [] };
  let isStopped = false;
  const body = JSON.stringify({ name: "work", arguments: {} });
  let old = await held.serve();
  const clients = Array.from({ length: 16 }, (_, at) =>
    // Half of them need a new connection for each request: some are under way at any time.
    keepSending({
      port: held.port,
      body,
      perConnection: at % 2 === 0 ? 1 : 1_000_000,
      tally,
      isOver: () => isStopped,
    }),
  );
  for (let restart = 1; restart <= 3; restart++) {
    const before = tally.answered;
    await until(() => tally.answered > before + 200);
    const next = await held.serve();
    expect(isAlive(next)).toBe(true);
    process.kill(old, "SIGTERM");
    expect(await held.exitOf(old)).toBe(0);
    old = next;
  }
  const before = tally.answered;
  await until(() => tally.answered > before + 200);
  isStopped = true;
  await Promise.all(clients);
  expect(tally.failed).toEqual([]);
  process.kill(old, "SIGTERM");
  expect(await held.exitOf(old)).toBe(0);
});

test("no executor has the socket that a service was handed", async () => {
  await using held = await holdSocket();
  const pid = await held.serve();
  const socketsOf = (process: number | string): string[] => {
    const folderOfFds = `/proc/${process}/fd`;
    return readdirSync(folderOfFds).map((name) => readlinkSync(join(folderOfFds, name)));
  };
  expect(socketsOf(pid)).toContain(held.name);
  // A machine under pressure starts no spare.
  await until(() => executors(pid).length > 0);
  for (const executor of executors(pid)) expect(socketsOf(executor)).not.toContain(held.name);
});

test("a socket that is for another process is not taken", async () => {
  await using held = await holdSocket();
  const service = spawn(process.execPath, [...SERVE, "--tools", folder], {
    env: { ...process.env, LISTEN_FDS: "1", LISTEN_PID: "1" },
    stdio: ["ignore", "pipe", "ignore"],
  });
  try {
    const [line] = (await once(createInterface({ input: service.stdout }), "line")) as [string];
    expect(line).not.toContain(`:${held.port}`);
  } finally {
    service.kill("SIGKILL");
    await once(service, "exit");
  }
});
