import { writeFileSync } from "node:fs";
import { callbackPath, openEngine } from "./engine.ts";

const [, , folder = "."] = process.argv;
await using engine = await openEngine(folder);
const { error } = await engine.execute({ name: "order", arguments: { item: "lamp" } });
if (error?.code !== "paused") throw new Error("the order does not wait");
const id = error.details?.id ?? "";
console.log("shop:", error.message.replace(id, "…"));
// The bank is told where to say that the order is paid.
writeFileSync(`${folder}/callback`, callbackPath(id));
process.kill(process.pid, "SIGKILL");
