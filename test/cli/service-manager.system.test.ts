import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { said, serve, type Served } from "../server/served.ts";

let folder: string;

/** Stands for systemd's command, which says to a socket what this one writes down. */
const COMMAND = `#!/bin/sh\necho "$*" >>"$(dirname "$0")/told"\n`;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "glovebox-manager-"));
  writeFileSync(join(folder, "systemd-notify"), COMMAND);
  chmodSync(join(folder, "systemd-notify"), 0o755);
});

afterEach(() => rmSync(folder, { recursive: true }));

const told = (): string => (existsSync(join(folder, "told")) ? readFileSync(join(folder, "told"), "utf8") : "");

async function toldOf(what: RegExp): Promise<void> {
  const untilMs = performance.now() + 120_000;
  while (!what.test(told())) {
    if (performance.now() > untilMs) throw new Error(`it was not told ${what}: ${told()}`);
    await delay(20);
  }
}

const start = (env: NodeJS.ProcessEnv): Promise<Served> =>
  serve(["--tools", "fixtures/tools/slugify"], { env: { PATH: `${folder}:${process.env["PATH"]}`, ...env } });

test("a service manager is told when the service is ready, reloads, and stops", async () => {
  await using server = await start({ NOTIFY_SOCKET: join(folder, "socket") });
  await toldOf(new RegExp(`^--pid=${server.pid} READY=1 STATUS=listening on ${server.url}$`, "m"));
  server.signal("SIGHUP");
  await said(server, /^glovebox: reloaded: nothing has changed$/);
  await toldOf(/ RELOADING=1 MONOTONIC_USEC=\d+\n(?:.*\n)*.* READY=1 /);
  server.signal("SIGTERM");
  expect(await server.exit).toBe(0);
  expect(told()).toMatch(/ STOPPING=1 /);
  expect(told()).not.toContain("WATCHDOG");
});

test("a service manager that watches hears of the service as often as it asks", async () => {
  await using server = await start({ NOTIFY_SOCKET: join(folder, "socket"), WATCHDOG_USEC: "400000" });
  await toldOf(/(?:.* WATCHDOG=1\n(?:.*\n)*){3}/);
  server.signal("SIGTERM");
  expect(await server.exit).toBe(0);
});

test("a service that nobody manages tells nobody", async () => {
  await using server = await start({ WATCHDOG_USEC: "100000" });
  server.signal("SIGTERM");
  expect(await server.exit).toBe(0);
  expect(told()).toBe("");
});

test("a service starts where nobody can be told", async () => {
  writeFileSync(join(folder, "systemd-notify"), "#!/bin/sh\nexit 1\n");
  await using server = await start({ NOTIFY_SOCKET: join(folder, "socket") });
  await said(server, /^glovebox: warning: systemd-notify did not work$/);
  expect((await fetch(`${server.url}/readyz`)).status).toBe(200);
});
