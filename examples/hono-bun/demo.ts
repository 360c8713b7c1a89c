/** Starts the server in Node and calls it from Bun and from Node; then tries to start it in Bun. */
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

const server = spawn("node", ["server.ts"], {
  env: { ...process.env, PORT: "0" },
  stdio: ["ignore", "pipe", "inherit"],
});
process.once("exit", () => server.kill());
const [url] = (await once(createInterface({ input: server.stdout }), "line")) as [string];

const me = await fetch(`${url}/me`, { headers: { authorization: "Bearer token-of-ada" } });
console.log(await me.text());
for (const runtime of ["bun", "node"]) execFileSync(runtime, ["client.ts", url], { stdio: "inherit" });

const { stderr } = spawnSync("bun", ["server.ts"], { encoding: "utf8" });
console.log(stderr.split("\n").find((line) => line.startsWith("error: ")));

server.kill();
await once(server, "exit");
