import { chmodSync, copyFileSync, existsSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { createEngine, defineCapability, type Engine, GloveboxError } from "../../../../../src/glovebox/index.ts";
import { StoreError } from "../../../../../src/kernel/base/errors.ts";
import { fillDisk, overwritePages, until } from "../fault-store.ts";

/*
 * A call waits for an approval while its store is harmed. `folder`: on a small disk of a user without rights. Prints what
 * is answered meanwhile, and how the call ends once the store is as it was.
 */
const [folder = "", fault = ""] = process.argv.slice(2);
const [path, aside] = [join(folder, "calls.sqlite"), join(folder, "aside.sqlite")];
const ENDS = ["", "-wal", "-shm"];
const effects: unknown[] = [];
const ledger = defineCapability({ name: "ledger", methods: { add: { handler: (args) => void effects.push(args) } } });

function open(): Promise<Engine> {
  return createEngine({
    workers: 1,
    executor: "threads",
    capabilities: [ledger],
    calls: { path },
    policy: { rules: [{ allow: { ledger: true, pause: true } }] },
    tools: [
      {
        name: "order",
        description: "Orders after a person's yes.",
        capabilities: { ledger: true, pause: true },
        source: `export default async ({ item }, { host }) => {
          await host.ledger.add({ before: item });
          await host.pause.approval({ message: "Order?", data: { item } });
          await host.ledger.add({ after: item });
          return item;
        };`,
      },
      {
        name: "refund",
        description: "Refunds.",
        approval: "always",
        capabilities: { ledger: true },
        source: "export default async ({ item }, { host }) => { await host.ledger.add({ refunded: item }); };",
      },
    ],
  });
}

/** Name and code of an error, or what there is without one. */
async function told(work: Promise<unknown>): Promise<unknown> {
  return work.catch((error: unknown) => {
    if (error instanceof GloveboxError) return error.code;
    return error instanceof StoreError ? `StoreError: ${error.message}` : String(error);
  });
}

async function approve({ calls: { durable } }: Engine): Promise<unknown> {
  return (await durable.decide(id, { decision: "approve", digest }))?.state ?? "no such call";
}

/** An engine over a store that was harmed, and what heals it: then this engine goes on, or another one. */
interface Harmed {
  readonly engine: Engine;
  readonly heal: () => Engine | Promise<Engine>;
}

async function harm(engine: Engine): Promise<Harmed> {
  switch (fault) {
    case "full": {
      const empty = fillDisk(join(folder, "ballast"));
      return { engine, heal: () => (empty(), engine) };
    }
    case "locked": {
      const other = new DatabaseSync(path, { timeout: 60_000 });
      other.exec("BEGIN IMMEDIATE");
      return { engine, heal: () => (other.exec("COMMIT"), other.close(), engine) };
    }
    case "read-only": {
      await engine.close();
      chmodSync(path, 0o444);
      chmodSync(folder, 0o555);
      return { engine: await open(), heal: writable };
    }
    case "deleted": {
      move(path, aside);
      return { engine, heal: restored };
    }
    case "damaged": {
      await engine.close();
      copyFileSync(path, aside);
      overwritePages(path);
      return { engine: await open(), heal: restored };
    }
    default:
      throw new TypeError(`there is no fault ${fault}`);
  }
}

function writable(): Engine {
  chmodSync(folder, 0o755);
  chmodSync(path, 0o644);
  return harmed.engine;
}

/** Puts the file back, as from a backup, which takes an engine that starts. */
async function restored(): Promise<Engine> {
  await harmed.engine.close();
  for (const end of ENDS) rmSync(path + end, { force: true });
  move(aside, path);
  return open();
}

function move(from: string, to: string): void {
  for (const end of ENDS) if (existsSync(from + end)) renameSync(from + end, to + end);
}

const first = await open();
const { error } = await first.execute({ name: "order", arguments: { item: 1 } });
const id = error?.code === "paused" ? (error.details?.id ?? "") : "";
const [wait] = (await first.calls.durable.get(id))?.waits ?? [];
const digest = wait?.kind === "approval" ? wait.digest : "";
const harmed = await harm(first);
const begun = await harmed.engine.execute({ name: "refund", arguments: { item: 2 } });
const decided = await told(approve(harmed.engine));
const during = { begun: begun.error?.code, decided, effects: [...effects] };
const engine = await harmed.heal();
await until(() => engine.calls.status()?.problem === null);
const again = await told(approve(engine));
const ended = await engine.calls.durable.result(id, {}, { waitMs: 60_000 });
const twice = await told(approve(engine));
console.log(JSON.stringify({ paused: error?.code, during, again, output: ended?.output, twice, effects }));
await engine.close();
