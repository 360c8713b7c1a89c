/** Sets one key after the other in a store, and says each when it is acknowledged; a refusal ends it. */
import { createKv } from "../../../../../../src/kernel/broker/capabilities/kv/kv.ts";
import { SqliteKvStore } from "../../../../../../src/kernel/broker/capabilities/kv/sqlite-store.ts";

const [path = "", prefix = "", quota = ""] = process.argv.slice(2);
const kv = createKv(() => new SqliteKvStore({ path, maxBytes: 2 ** 30 }));
const call = {
  callId: "c",
  tool: "t",
  signal: new AbortController().signal,
  callTool: () => Promise.reject(new Error("there are no other tools")),
  grantsOf: () => [],
};
const open = kv.open(call, [Number(quota)]);
try {
  for (let at = 0; ; at++) {
    const key = `${prefix}${at}`;
    await open.invoke("set", { key, value: { at, filler: "x".repeat(100) } }, 1);
    process.stdout.write(`${key}\n`);
  }
} catch (error) {
  process.stdout.write(`${(error as Error).name}: ${(error as Error).message}\n`);
}
await kv.close?.();
