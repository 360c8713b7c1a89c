/** Builds the application, starts the standalone build in a folder of its own as a container does, and calls the tool. */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { createClient } from "glovebox/client";
import type greet from "./tools/greet.ts";

process.env["NEXT_TELEMETRY_DISABLED"] = "1";
execFileSync("next", ["build"], { stdio: ["ignore", process.stderr, "inherit"] });

const folder = mkdtempSync(join(tmpdir(), "next-"));
cpSync(".next/standalone", folder, { recursive: true });

const free = createServer().listen(0, "127.0.0.1");
await once(free, "listening");
const PORT = String((free.address() as AddressInfo).port);
free.close();

const env = { ...process.env, HOSTNAME: "127.0.0.1", PORT };
const server = spawn("node", ["server.js"], { cwd: folder, env, stdio: ["ignore", "pipe", "inherit"] });
process.once("exit", () => server.kill());
for await (const line of createInterface({ input: server.stdout })) if (line.includes("Ready")) break;

const url = `http://127.0.0.1:${PORT}`;
console.log("page", (await fetch(url)).status);

const ada = createClient<[typeof greet]>({ url: `${url}/tools`, headers: { "x-user": "ada" } });
const greeted = await ada.tools.greet({ name: "Ada" });
if (greeted.success) console.log("greet", greeted.output.text);

const nobody = createClient<[typeof greet]>({ url: `${url}/tools` });
console.log("no user", (await nobody.tools.greet({ name: "Ada" })).error?.code);

server.kill();
await once(server, "exit");
rmSync(folder, { recursive: true });
