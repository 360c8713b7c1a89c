import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openEngine } from "./engine.ts";

const folder = mkdtempSync(join(tmpdir(), "approvals-"));
const agent = () => spawnSync(process.execPath, [...process.execArgv, "agent.ts", folder], { stdio: "inherit" });
console.log("the agent was killed:", agent().signal);

await using engine = await openEngine(folder);
const { durable } = engine.calls;
const [call] = (await durable.list({ state: "paused" })).calls;
const [wait] = call?.waits ?? [];
if (call === undefined || wait?.kind !== "approval") throw new Error("no call waits");
console.log("Ada reads:", wait.message, wait.arguments);
// The digest says what she has looked at: nothing else runs.
await durable.decide(call.id, { decision: "approve", digest: wait.digest, actor: "ada@example.com" });
await durable.result(call.id, {}, { waitMs: 25_000 });
agent();
await engine.close();
rmSync(folder, { recursive: true });
