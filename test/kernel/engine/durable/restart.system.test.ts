import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { isSigned, receiver } from "./receiver.ts";
import { describeRestarts, killed } from "./restarts.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "glovebox-restart-"));
});
afterAll(() => rm(folder, { recursive: true }));

describeRestarts(
  () => folder,
  (name) => join(folder, `${name}.sqlite`),
);

test("a person is told by the next process where one is killed before it could, with the same note and its signature", async () => {
  const path = join(folder, "told.sqlite");
  let isUp = false;
  await using hook = await receiver((response) => {
    // It goes away without an answer.
    if (isUp) response.writeHead(204).end();
    else response.destroy();
  });
  const begun = await killed("waits", ["pause", path, "refund", hook.url]);
  const { details } = begun as { readonly details: { readonly id: string } };
  const before = hook.all.length;
  isUp = true;
  // Of a try that was cut off, the lease has to end: 30 seconds.
  expect(await killed("waits", ["tell", path, "-", hook.url])).toEqual({ id: details.id });
  expect(hook.all).toHaveLength(before + 1);
  const note = hook.all.at(-1);
  expect(note?.body).toMatchObject({ type: "call.paused", data: { id: details.id, tool: "refund" } });
  expect(note !== undefined && isSigned(note, "a secret of many characters")).toBe(true);
  expect(new Set(hook.all.map(({ id }) => id)).size).toBe(1);
}, 300_000);
