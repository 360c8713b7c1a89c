import { join } from "node:path";
import { fillDisk, openStoreAt, until } from "../fault-store.ts";
import { rowOf } from "../kept-row.ts";

/*
 * Keeps calls on a small disk that another file fills, and then no longer does. Prints what came of it as JSON. Its
 * argument is a folder on that disk.
 */
const [folder = ""] = process.argv.slice(2);
const { store, keep, told } = openStoreAt(join(folder, "calls.sqlite"));
keep(4);
await until(() => store.status().kept === 4);
const empty = fillDisk(join(folder, "ballast"));
keep(10);
const isFull = await until(() => store.status().problem !== null);
const { problem } = store.status();
// More than may wait.
keep(400);
const { full, ...others } = store.status().dropped;
const isCounted = full > 0 && Object.values(others).every((count) => count === 0);
empty();
const isWell = await until(() => store.status().problem === null);
store.keep(rowOf({ id: "after" }), 0);
const isWhole = await until(() => store.status().kept + store.status().dropped.full === 415);
const ids = await Promise.all(["c0", "after"].map(async (id) => (await store.get(id, null))?.id));
console.log(JSON.stringify({ isFull, problem, isCounted, isWell, isWhole, ids, told: [...told] }));
await store.close();
