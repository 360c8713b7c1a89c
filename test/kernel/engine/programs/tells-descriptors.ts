/** Tells what a command has, and which executors have the same, at the descriptor 63 that this process was started with. */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { createEngine } from "../../../../src/glovebox/index.ts";

const FD = "63";

await using engine = await createEngine({ workers: 1, policy: { rules: [{ allow: { exec: true } }] } });
await engine.register({
  name: "looks",
  description: "Looks into a folder that it was not given.",
  capabilities: { exec: true },
  source: `export default async (_, { host }) => (await host.exec.run({ command: "ls /proc/self/fd/${FD}/" })).stdout`,
});
const { output } = await engine.execute({ name: "looks", arguments: {} });
const own = readlinkSync(`/proc/self/fd/${FD}`);
const holders = readdirSync("/proc").filter((pid) => linkOf(pid) === own && isExecutor(pid));
console.log(JSON.stringify({ own, output, holders }));

function isExecutor(pid: string): boolean {
  return /executor\/process\/child\.[jt]s/.test(readFileSync(`/proc/${pid}/cmdline`, "utf8"));
}

function linkOf(pid: string): string | null {
  try {
    return readlinkSync(`/proc/${pid}/fd/${FD}`);
  } catch {
    return null;
  }
}
