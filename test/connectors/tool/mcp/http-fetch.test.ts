import { afterEach, expect, test, vi } from "vitest";
import { DigitMarks } from "../../../../src/connectors/tool/mcp/digit-marks.ts";
import { GuardedFetch } from "../../../../src/connectors/tool/mcp/http-fetch.ts";
import { MCP_LIMITS } from "../../../../src/connectors/tool/mcp/limits.ts";
import { Connections } from "../../../../src/kernel/broker/capabilities/fetch/connections.ts";
import { Secrets } from "../../../../src/kernel/broker/capabilities/secrets/secrets.ts";
import { serve } from "../../../kernel/broker/capabilities/fetch/server.ts";

afterEach(() => vi.restoreAllMocks());

/** Timers of the time in which a stream may end that is open behind its answer. */
function lingering(): () => number {
  const open = new Set<unknown>();
  const [set, clear] = [setTimeout, clearTimeout];
  vi.spyOn(globalThis, "setTimeout").mockImplementation(((run: () => void, ms?: number, ...rest: []) => {
    const timer = set(run, ms, ...rest);
    if (ms === 5_000) open.add(timer);
    return timer;
  }) as typeof setTimeout);
  vi.spyOn(globalThis, "clearTimeout").mockImplementation((timer) => {
    open.delete(timer);
    clear(timer);
  });
  return () => open.size;
}

test("a request whose answers have ended leaves no timer, and one whose stream is open ends with it", async () => {
  let end = (): void => undefined;
  await using server = await serve(({ url }, response) => {
    response.write("answer");
    end = () => void response.end();
    if (url === "/whole") end();
  });
  const http = { kind: "http", url: server.origin, headers: [], isPrivate: true } as const;
  const connections = new Connections({});
  const parts = { limits: MCP_LIMITS, tokens: null, marks: new DigitMarks() };
  const guarded = new GuardedFetch(http, connections, new Secrets({}, {}), parts);
  const count = lingering();
  const whole = guarded.during(async () => (await guarded.send(`${server.origin}/whole`)).text());
  expect(await whole).toBe("answer");
  await expect.poll(count).toBe(0);
  const stream = await guarded.during(() => guarded.send(`${server.origin}/open`));
  expect(count()).toBe(1);
  end();
  expect(await stream.text()).toBe("answer");
  await expect.poll(count).toBe(0);
  await connections.close();
});
