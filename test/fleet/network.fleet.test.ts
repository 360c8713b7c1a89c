import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { RedisConnection } from "../../src/fleet/redis/connection.ts";
import { linesOf, WATCHER } from "./redis/watch.ts";
import { startRedis } from "../redis-server.ts";
import { canUseNetworks, createNetwork, type NetworkHost } from "./network.ts";

const missing = canUseNetworks();
const LONG_MS = 120_000;
const SHORT_CUT_MS = 3_000;

describe.skipIf(missing !== null)(
  `networks of tests${missing === null ? "" : ` (${missing})`}`,
  { timeout: 300_000 },
  () => {
    test("a connection over one survives a short cut: what was asked is answered, and nothing was lost", async () => {
      await using net = await createNetwork();
      await using redis = await startRedis({ host: net.address });
      await using connection = RedisConnection.open(redis.url, "test");
      const count = async (): Promise<number> => Number(await connection.client.get("watched"));
      const host = await net.host("far");
      const lines = watch(host, redis.url);
      await expect.poll(count, { timeout: LONG_MS }).toBeGreaterThan(0);
      await host.cut();
      await delay(500);
      const atCut = await count();
      await delay(SHORT_CUT_MS - 500);
      expect(await count()).toBe(atCut);
      await host.mend();
      await expect.poll(count, { timeout: LONG_MS }).toBeGreaterThan(atCut);
      expect(lines).toEqual(["ready"]);
    });

    test("a connection over one sees a long cut by its silence, and is there again after it, while the next host notices nothing", async () => {
      await using net = await createNetwork();
      await using redis = await startRedis({ host: net.address });
      const [far, near] = [await net.host("far"), await net.host("near")];
      const [farLines, nearLines] = [watch(far, redis.url), watch(near, redis.url)];
      await expect.poll(() => [farLines, nearLines], { timeout: LONG_MS }).toEqual([["ready"], ["ready"]]);
      await far.cut();
      await expect.poll(() => farLines, { timeout: LONG_MS }).toEqual(["ready", "lost ETIMEDOUT"]);
      await far.mend();
      await expect.poll(() => farLines.at(-1), { timeout: LONG_MS }).toBe("ready");
      expect(nearLines).toEqual(["ready"]);
    });

    test("nobody who connects over a cut is refused or told that the host is unreachable", async () => {
      await using net = await createNetwork();
      await using redis = await startRedis({ host: net.address });
      const host = await net.host("far");
      await host.cut();
      const lines = watch(host, redis.url);
      await expect.poll(() => lines, { timeout: LONG_MS }).toEqual(["lost ETIMEDOUT"]);
    });

    test("nothing is left of one: its programs, its hosts, its bridge", async () => {
      const net = await createNetwork();
      const child = (await net.host("far")).run("sleep", ["1000"], { stdio: "ignore" });
      await once(child, "spawn");
      expect(left(process.pid)).not.toEqual([]);
      const ended = once(child, "exit");
      await net[Symbol.asyncDispose]();
      expect(await ended).toEqual([null, "SIGKILL"]);
      expect(left(process.pid)).toEqual([]);
    });

    test("the next one removes what a killed run left behind", async () => {
      const file = new URL("network.ts", import.meta.url).href;
      const script = `const { createNetwork } = await import(${JSON.stringify(file)});
      await (await createNetwork()).host("far");
      process.kill(process.pid, "SIGKILL");`;
      const child = spawn(process.execPath, ["--input-type=module", "--no-warnings", "-e", script], {
        stdio: "ignore",
      });
      expect(await once(child, "exit")).toEqual([null, "SIGKILL"]);
      const pid = child.pid ?? 0;
      expect(left(pid)).toHaveLength(2);
      await using _net = await createNetwork();
      expect(left(pid)).toEqual([]);
    });
  },
);

function watch(host: NetworkHost, url: string): readonly string[] {
  const child = host.run(process.execPath, ["--no-warnings", WATCHER, url], { stdio: ["pipe", "pipe", "inherit"] });
  return linesOf(child);
}

/** Namespaces and bridges of a process. */
function left(pid: number): string[] {
  const said = ["netns list", "-brief link show type bridge"].map((args) =>
    execFileSync("ip", args.split(" "), { encoding: "utf8" }),
  );
  return said
    .join("")
    .split("\n")
    .filter((line) => line.startsWith(`gx${pid}n`));
}
