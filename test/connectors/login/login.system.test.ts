import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { afterEach, expect, test } from "vitest";
import { closeAll, folder, refreshingOf, served } from "./opened.ts";
import type { TakenTokens } from "./programs/take-tokens.ts";

afterEach(closeAll);

const PROGRAM = fileURLToPath(new URL("programs/take-tokens.ts", import.meta.url));

function start(taken: Partial<TakenTokens>): ChildProcess {
  const all = { skewMs: 0, pausesMs: [0], ...taken };
  return spawn(process.execPath, ["--no-warnings", PROGRAM, JSON.stringify(all)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
}

async function linesOf({ stdout }: ChildProcess): Promise<readonly string[]> {
  if (stdout === null) throw new TypeError("no output");
  return (await text(stdout)).trim().split("\n");
}

test.each([
  ["a year ahead", 31_536_000_000],
  ["a year behind", -31_536_000_000],
])("a clock that is %s loses no login, neither in its own process nor in the next", async (_name, skewMs) => {
  const server = await served({ lifeS: 600 });
  const [auth, secrets] = await refreshingOf(server);
  const own = { issuer: server.issuer, auth, secrets, file: path.join(await folder(), "logins.sqlite") };
  const first = await linesOf(start({ ...own, skewMs, pausesMs: [0, 50] }));
  expect(first[1]).toBe(first[0]);
  const [second = ""] = await linesOf(start(own));
  expect(await server.accountOf(second)).toBe("ann");
  // A clock that was ahead wrote a token from the future, one that was behind a token that has ended.
  expect(server.seen).toHaveLength(2);
});

test("an assertion that is signed by a wrong clock is signed again by the server's", async () => {
  const server = await served();
  const client = { issuer: server.issuer, clientId: "signed", privateKey: "{secret:KEY}", algorithm: "ES256" };
  const own = { issuer: server.issuer, auth: { clientCredentials: client }, file: ":memory:" };
  const taken = await linesOf(start({ ...own, secrets: { KEY: server.privateKey }, skewMs: -86_400_000 }));
  expect(taken[0]).toHaveLength(43);
});

const MOMENTS = [
  "before the server is asked",
  "after the server has let go of the old token",
  "after the new token is stored",
] as const;

/** Kills a process at a moment of its first rotation, and returns whose token the next process gets. */
async function afterKill(moment: (typeof MOMENTS)[number]): Promise<string | null> {
  // Its tokens end for who takes them, not for the test, which asks about the last one when its process has ended.
  const server = await served({ lifeS: 600, graceMs: 60_000 });
  server.saidLifeS = 2;
  const [auth, secrets] = await refreshingOf(server);
  const own = { issuer: server.issuer, auth, secrets, file: path.join(await folder(), "logins.sqlite") };
  const child = start({ ...own, pausesMs: [0, 1_700, 60_000] });
  let requests = 0;
  server.intercept = ({ url }) => {
    const isRotation = url === "/token" && ++requests === 2;
    if (isRotation && moment === MOMENTS[0]) child.kill("SIGKILL");
    return isRotation && moment === MOMENTS[0];
  };
  server.onAnswer = () => {
    if (requests === 2 && moment === MOMENTS[1]) child.kill("SIGKILL");
  };
  let printed = "";
  child.stdout?.on("data", (data: Buffer) => {
    printed += data.toString();
    if (printed.split("\n").length === 3) child.kill("SIGKILL");
  });
  await once(child, "exit");
  server.intercept = null;
  server.onAnswer = null;
  const [next = ""] = await linesOf(start({ ...own, pausesMs: [2_100] }));
  return server.accountOf(next);
}

test("a process that is killed at any moment of a rotation keeps its login", async () => {
  expect(await Promise.all(MOMENTS.map(afterKill))).toEqual(["ann", "ann", "ann"]);
});
