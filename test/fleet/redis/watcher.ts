/**
 * A program that keeps one connection to the URL it is given, and counts in the key `watched` as often as it is answered.
 * Prints a line whenever the connection is found or lost. Ends with its parent.
 */
import { setTimeout as delay } from "node:timers/promises";
import { RedisConnection } from "../../../src/fleet/redis/connection.ts";

const EVERY_MS = 50;

const [, , url = ""] = process.argv;
const connection = RedisConnection.open(url, "watcher");
process.stdin.resume().once("close", () => process.exit());

// Until it is there, or has a code that says why it is not.
while (!(await connection.ready(EVERY_MS)) && connection.failure.includes(" "));
let said = "";
let isAsking = false;
for (;;) {
  const line = connection.isReady ? "ready" : `lost ${connection.failure}`;
  if (line.split(" ")[0] !== said.split(" ")[0]) console.log(line);
  said = line;
  if (!isAsking) {
    isAsking = true;
    void connection.client.incr("watched").finally(() => {
      isAsking = false;
    });
  }
  await delay(EVERY_MS);
}
