import { connect, type AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createEngine, type Engine } from "../../../src/glovebox/index.ts";
import { createServer, type Server } from "../../../src/server/http/server.ts";
import { expectOutcome } from "../outcome.ts";
import { suiteFolder, SUITES } from "../suites.ts";
import { createEchoApp } from "./echo-app.ts";
import { HEADS, SMUGGLED } from "./heads.ts";
import { NO_ECHO } from "./known-differences.ts";
import { runSuite, type Verdict } from "./run-suite.ts";

const ECHO = { name: "echo", description: "Gives its input back.", source: "export default (input) => input;" };
/** The host of h1spec's requests. */
const HOSTS = ["example.com"];
const CASES = 33;
/** Against servers that never answer, and the time in which a wrong second answer would have come. */
const PATIENCE_MS = 120_000;
const REST_MS = 200;
/** Answers after which a server has to end the connection. */
const REFUSAL = /^HTTP\/1\.1 (?:400|501) /;

let engine: Engine;
let server: Server;
beforeAll(async () => {
  engine = await createEngine({ executor: "threads", workers: 1, tools: [ECHO] });
  server = await createServer(engine, { port: 0, drainMs: 100, hosts: HOSTS });
});
afterAll(() => server.close());

/** What a server says to bytes: all of it, which has `end` in it, and whether it has ended the connection. */
async function exchange(
  bytes: string,
  end = "\r\n\r\n",
): Promise<{ readonly text: string; readonly isClosed: boolean }> {
  const socket = connect(server.port, "127.0.0.1");
  let text = "";
  let isClosed = false;
  socket.on("error", () => undefined);
  socket.on("data", (chunk: Buffer) => (text += chunk.toString("latin1")));
  socket.on("close", () => (isClosed = true));
  // Each character is a byte.
  socket.write(bytes, "latin1");
  const untilMs = performance.now() + PATIENCE_MS;
  const isDue = (): boolean => REFUSAL.test(text) || !text.includes(end);
  while (!isClosed && isDue() && performance.now() < untilMs) await delay(10);
  await delay(REST_MS);
  socket.destroy();
  return { text, isClosed };
}

describe.concurrent("heads and bodies as RFC 9112 has them", () => {
  test.each(HEADS)("$what ($section)", async ({ bytes, statuses }) => {
    const { text, isClosed } = await exchange(bytes);
    const answers = [...text.matchAll(/^HTTP\/1\.1 (\d+)/gm)].map(([, status]) => Number(status));
    if (statuses.length === 0) expect({ answers, isClosed }).toEqual({ answers: [], isClosed: true });
    else expect(statuses).toContain(answers[0]);
    // What stands behind a request that is refused is no request.
    expect(answers.length).toBeLessThanOrEqual(1);
    expect(text).not.toContain('"alive"');
    if (answers[0] === 400 || answers[0] === 501) expect(isClosed).toBe(true);
  });

  test("a request is answered that stands behind another one, and not in its body", async () => {
    const { text } = await exchange(SMUGGLED, '"alive"');
    expect(text).toContain('"alive"');
    const within = `GET /v1/tools HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${SMUGGLED.length}\r\n\r\n${SMUGGLED}`;
    expect((await exchange(within)).text).not.toContain('"alive"');
  });
});

const { folder, isWhole } = suiteFolder("h1spec");

describe.runIf(isWhole)("h1spec", () => {
  const fallen = (verdicts: readonly Verdict[]): readonly string[] =>
    verdicts.filter(({ passes }) => !passes).map(({ description }) => description);

  test("the server passes all but what asks for an echo", async () => {
    // The first request makes the page, which may take longer than h1spec waits.
    await (await fetch(server.url)).text();
    const verdicts = await runSuite(folder, server.port);
    expect(verdicts).toHaveLength(CASES);
    expect(fallen(verdicts).toSorted()).toEqual(NO_ECHO.toSorted());
  });

  test("with an echo in the place of its routes it passes all", async () => {
    const app = await createEchoApp(engine, HOSTS);
    const verdicts = await runSuite(folder, (app.server.address() as AddressInfo).port);
    app.server.closeAllConnections();
    await app.close();
    expect(fallen(verdicts)).toEqual([]);
    await expectOutcome("h1spec", {
      suite: "HTTP/1.1, h1spec",
      version: SUITES.h1spec.pinned,
      passed: verdicts.length,
      notApplicable: [],
      refused: [],
      open: [],
    });
  });
});
