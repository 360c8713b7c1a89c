import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";

const PROGRAM = "promtool";
const DEADLINE_MS = 120_000;

export interface Checked {
  readonly code: number | null;
  readonly said: string;
}

/** What Prometheus's own tool says of something. */
export async function promtool(args: readonly string[], input = ""): Promise<Checked> {
  const child = spawn(PROGRAM, args, { timeout: DEADLINE_MS, stdio: ["pipe", "pipe", "pipe"] });
  child.stdin.on("error", () => undefined);
  child.stdin.end(input);
  const closed = once(child, "close") as Promise<[number | null]>;
  const [said, complaints, [code]] = await Promise.all([text(child.stdout), text(child.stderr), closed]);
  return { code, said: said + complaints };
}
