import { expect, test } from "vitest";
import { createEngine } from "../../../src/glovebox/index.ts";
import { byHand } from "../tool/mcp/programs/by-hand.ts";
import { type Handle, serve } from "../tool/mcp/programs/http.ts";

const hints = (readOnlyHint: boolean) => ({ inputSchema: { type: "object" }, annotations: { readOnlyHint } });

/** A server that is busy for the first calls, and then is not. */
function busy(times: number): Handle {
  let calls = 0;
  return byHand(
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
}

test("a busy server is asked again where its tool only reads and that is trusted, and else tells when to come back", async () => {
  const { url, requests } = await serve(busy(2));
  const policy = { rules: [{ allow: { connector: ["c"] } }] };
  await using engine = await createEngine({
    workers: 1,
    executor: "threads",
    connectors: { c: { mcp: { url }, trustAnnotations: true } },
    policy,
  });
  const before = requests.length;
  expect(await engine.execute({ name: "c.read", arguments: {} })).toMatchObject({ output: "done" });
  expect(requests.length - before).toBe(3);

  const other = await serve(busy(1));
  await using second = await createEngine({
    workers: 1,
    executor: "threads",
    connectors: { c: { mcp: { url: other.url }, trustAnnotations: true } },
    policy,
  });
  expect(await second.execute({ name: "c.write", arguments: {} })).toMatchObject({
    error: { code: "capability_failed", message: expect.stringContaining("HTTP 429; retryAfterMs: 0") as string },
  });
});
