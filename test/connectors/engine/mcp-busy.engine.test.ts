import { expect, test } from "vitest";
import { byHand } from "../tool/mcp/programs/by-hand.ts";
import { type Handle, serve } from "../tool/mcp/programs/http.ts";
import { openConnected } from "./mcp-by-hand.ts";

const hints = (readOnlyHint: boolean) => ({ inputSchema: { type: "object" }, annotations: { readOnlyHint } });

/** A server that is busy for the first calls, and then is not; it counts them. */
function busy(times: number): { readonly handle: Handle; readonly calls: () => number } {
  let calls = 0;
  const handle = byHand(
    (method) =>
      method === "tools/list"
        ? {
            tools: [
              { name: "read", ...hints(true) },
              { name: "write", ...hints(false) },
            ],
          }
        : { content: [{ type: "text", text: "done" }] },
    { refuse: (method) => (method === "tools/call" && calls++ < times ? { status: 429, "retry-after": "0" } : null) },
  );
  return { handle, calls: () => calls };
}

test("a busy server is asked again where its tool only reads and that is trusted, and else tells when to come back", async () => {
  const { handle, calls } = busy(2);
  const { url } = await serve(handle);
  const policy = { rules: [{ allow: { connector: ["c"] } }] };
  await using engine = await openConnected({
    workers: 1,
    executor: "threads",
    connectors: { c: { mcp: { url }, trustAnnotations: true } },
    policy,
  });
  expect(await engine.execute({ name: "c.read", arguments: {} })).toMatchObject({ output: "done" });
  // The client asks for a stream of news as well, at some time.
  expect(calls()).toBe(3);

  const other = await serve(busy(1).handle);
  await using second = await openConnected({
    workers: 1,
    executor: "threads",
    connectors: { c: { mcp: { url: other.url }, trustAnnotations: true } },
    policy,
  });
  expect(await second.execute({ name: "c.write", arguments: {} })).toMatchObject({
    error: { code: "capability_failed", message: expect.stringContaining("HTTP 429; retryAfterMs: 0") as string },
  });
});
