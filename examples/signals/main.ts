import { fork, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";

const folder = mkdtempSync(`${tmpdir()}/signals-`);
const shop = spawnSync(process.execPath, [...process.execArgv, "shop.ts", folder], { stdio: "inherit" });
console.log("the shop was killed:", shop.signal);

// Another process, at any later time.
const webhook = fork("webhook.ts", [folder]);
const ended = once(webhook, "exit");
const [port] = (await once(webhook, "message")) as [number];
// What the bank does, after somebody else who does not have the address.
const callback = readFileSync(`${folder}/callback`, "utf8");
for (const path of [callback.replace(/\w+$/, "0000"), callback])
  await fetch(`http://127.0.0.1:${port}${path}`, { method: "POST", body: JSON.stringify({ sum: 12 }) });
await ended;
rmSync(folder, { recursive: true });
