import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { byLength } from "../length.ts";
import { filesOf, residentMb } from "../processes.ts";
import { Program } from "./program.ts";

const SEED = 20_261_121;
const REQUESTS = byLength(2_000, 10_000);
/** What so many requests, of 50 KB some of them, may leave in a heap that has no reason to be small. */
const GROWTH_MAX_MB = 150;

interface Flood {
  readonly sent: number;
  readonly unanswered: number;
  readonly statuses: Readonly<Record<string, number>>;
  /** What was wrong with an answer, by the kind of the request. */
  readonly wrong: Readonly<Record<string, string>>;
}

async function flood(url: string, seed: number, count: number): Promise<Flood> {
  await using program = new Program("floods", [new URL(url).port, seed, count, 16]);
  return JSON.parse(await program.line()) as Flood;
}

async function add(url: string): Promise<unknown> {
  const body = '{"name":"add","arguments":{"a":1,"b":2}}';
  const headers = { "content-type": "application/json" };
  const response = await fetch(`${url}/v1/execute`, { method: "POST", headers, body });
  return ((await response.json()) as { readonly output: unknown }).output;
}

test(`${REQUESTS} bad requests are refused, each in our words, and leave nothing behind`, async () => {
  await using server = new Program("serves");
  const url = await server.line();
  expect(await add(url)).toEqual({ sum: 3 });
  await flood(url, 1, 1_000);
  const [filesBefore, mbBefore] = [filesOf(server.pid), residentMb(server.pid)];
  const { sent, wrong, unanswered, statuses } = await flood(url, SEED, REQUESTS);
  expect(wrong).toEqual({});
  expect(sent).toBe(REQUESTS);
  // Most are answered: who only begins a request, and goes, is not.
  expect(unanswered).toBeLessThan(REQUESTS / 5);
  expect(Object.keys(statuses).toSorted()).toEqual(["400", "404", "405", "406", "431"]);
  expect(await add(url)).toEqual({ sum: 3 });
  await expect.poll(() => filesOf(server.pid), { timeout: 60_000 }).toBeLessThanOrEqual(filesBefore + 2);
  await delay(100);
  expect(residentMb(server.pid) - mbBefore).toBeLessThan(GROWTH_MAX_MB);
});
