import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { createEngine, defineCapability, type Engine } from "../../../../src/glovebox/index.ts";
import { createServer } from "../../../../src/server/http/server.ts";
import { temporaryFolder } from "../../tool/temporary.ts";

/* Calls of a file that is sealed with `calls.secret`, through the engine. */

const SECRET = "a secret of the engines";

async function place() {
  const folder = await temporaryFolder();
  const path = join(folder, "calls.sqlite");
  const effects: unknown[] = [];
  const charge = defineCapability({ name: "charge", methods: { now: { handler: (args) => void effects.push(args) } } });
  const open = async (secret: string, resume = true): Promise<Engine> => {
    const engine = await createEngine({
      workers: 1,
      executor: { kind: "threads" },
      capabilities: [charge],
      calls: { path, secret, resume },
      policy: { rules: [{ allow: { charge: true } }] },
      tools: [
        {
          name: "pay",
          description: "Pays.",
          approval: "always",
          capabilities: { charge: true },
          source:
            "export default async ({ amount }, { host }) => { await host.charge.now({ amount }); return amount; };",
        },
      ],
    });
    onTestFinished(() => engine.close());
    return engine;
  };
  const pause = async (engine: Engine, amount: number): Promise<string> => {
    const { error } = await engine.execute({ name: "pay", arguments: { amount } });
    if (error?.code === "paused" && error.details?.id !== undefined) return error.details.id;
    throw new Error(`the call does not wait: ${error?.code}: ${error?.message}`);
  };
  const approve = async ({ calls: { durable } }: Engine, id: string) => {
    const [wait] = (await durable.get(id))?.waits ?? [];
    return durable.decide(id, { decision: "approve", digest: wait?.kind === "approval" ? wait.digest : "" });
  };
  return { path, effects, open, pause, approve };
}

test("a sealed call is approved and ended by another engine with its secret, and one with another hears why not", async () => {
  const { effects, open, pause, approve } = await place();
  const first = await open(SECRET);
  const [id, left] = [await pause(first, 5), await pause(first, 6)];
  await first.close();
  const second = await open(SECRET);
  await approve(second, id);
  expect(await second.calls.durable.result(id, {}, { waitMs: 60_000 })).toMatchObject({ success: true, output: 5 });
  expect(effects).toEqual([{ amount: 5 }]);
  await second.close();
  const third = await open("another secret of the engines");
  const words = /sealed with another calls\.secret .*: set that one/;
  await expect(third.calls.durable.get(left)).rejects.toThrow(words);
  expect(await third.execute({ name: "pay", arguments: { amount: 7 } })).toMatchObject({
    error: { code: "store_failed", message: expect.stringMatching(words) },
  });
  await expect.poll(() => third.calls.status()?.problem).toMatch(words);
  await third.close();
  const fourth = await open(SECRET);
  expect(await fourth.calls.durable.get(left)).toMatchObject({ state: "paused" });
});

test("a call of which a byte was changed in the file answers store_failed, has no effect, and another one goes on", async () => {
  const { path, effects, open, pause, approve } = await place();
  const engine = await open(SECRET);
  const [damaged, sound] = [await pause(engine, 5), await pause(engine, 6)];
  using database = new DatabaseSync(path, { timeout: 60_000 });
  const change = (column: string) =>
    database
      .prepare(
        `UPDATE durable SET ${column} = substr(${column}, 1, 40) || 'AAAA' || substr(${column}, 45) WHERE id = ?`,
      )
      .run(damaged);
  await approve(engine, sound);
  expect(await engine.calls.durable.result(sound, {}, { waitMs: 60_000 })).toMatchObject({ success: true });
  change("journal");
  await expect(approve(engine, damaged)).rejects.toThrow(/^the call was changed in its file by another program/);
  await expect(engine.calls.durable.get(damaged)).rejects.toThrow(/^the call was changed in its file/);
  expect(await engine.calls.durable.result(damaged, {}, { waitMs: 60_000 })).toMatchObject({
    error: { code: "store_failed", message: expect.stringMatching(/^the call was changed in its file/) },
    metadata: { callId: damaged },
  });
  expect(effects).toEqual([{ amount: 6 }]);
});

test("a damaged call answers store_failed over HTTP, to those who ask for it and to its caller, and has no effect", async () => {
  const { path, effects, open, approve } = await place();
  const engine = await open(SECRET);
  const server = await createServer(engine, { port: 0, drainMs: 0 });
  onTestFinished(() => server.close());
  const call = JSON.stringify({ name: "pay", arguments: { amount: 5 } });
  const headers = { "content-type": "application/json", "idempotency-key": "damaged" };
  const send = () => fetch(`${server.url}/v1/execute`, { method: "POST", headers, body: call });
  const paused = await send();
  expect(paused.status).toBe(202);
  const address = paused.headers.get("location") ?? "";
  const id = address.replace("/v1/calls/", "");
  using database = new DatabaseSync(path, { timeout: 60_000 });
  database.prepare("UPDATE durable SET record = 'AAAA' || substr(record, 5) WHERE id = ?").run(id);
  const shown = await fetch(`${server.url}${address}`);
  expect([shown.status, await shown.text()]).toEqual([503, expect.stringContaining("was changed in its file")]);
  await expect(approve(engine, id)).rejects.toThrow(/^the call was changed in its file/);
  const again = await send();
  expect([again.status, await again.json()]).toMatchObject([503, { error: { code: "store_failed" } }]);
  expect(effects).toEqual([]);
});
