import { chmodSync } from "node:fs";
import { join } from "node:path";
import { openStoreAt, until } from "../fault-store.ts";

/*
 * Keeps calls in a file and a folder that become read-only, and then no longer are. Prints what came of it as JSON. Its
 * argument is a folder of a user who may not write to what is read-only.
 */
const [folder = ""] = process.argv.slice(2);
const path = join(folder, "calls.sqlite");
const first = openStoreAt(path);
first.keep(1);
await until(() => first.store.status().kept === 1);
await first.store.close();
for (const [target, mode] of [
  [path, 0o444],
  [folder, 0o555],
] as const)
  chmodSync(target, mode);
const { store, keep } = openStoreAt(path, 1);
keep(1);
// What its rights say is known before the thread has tried.
const isTold = await until(() => store.status().problem?.includes("read-only") === true);
const { problem } = store.status();
for (const [target, mode] of [
  [folder, 0o755],
  [path, 0o644],
] as const)
  chmodSync(target, mode);
const isWell = await until(() => store.status().kept === 1);
console.log(JSON.stringify({ isTold, problem, isWell, status: store.status().problem }));
await store.close();
