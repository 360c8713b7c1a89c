import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Files } from "./files.ts";
import type { PlainJob } from "./programs/plain-pyodide.ts";
import type { Run, Verdict } from "./verdicts.ts";

const PROGRAM = fileURLToPath(new URL("programs/plain-pyodide.ts", import.meta.url));
const REASON_MAX = 500;

/** Runs a module of the suite in Pyodide as it comes. `memory`: a file that makes all starts but the first fast. */
export async function runPlain(
  { files, module, memory, wallMs }: { files: Files; module: string; memory: string; wallMs: number },
  without: readonly string[],
): Promise<Run> {
  const encoded = [...files].map(([name, bytes]) => [name, bytes.toString("base64")] as const);
  const job: PlainJob = { module, without, files: Object.fromEntries(encoded), memory };
  const child = spawn(process.execPath, ["--no-warnings", PROGRAM], { timeout: wallMs, killSignal: "SIGKILL" });
  const [out, errors] = [textOf(child.stdout), textOf(child.stderr)];
  // A program that ends before it has read its job says why.
  child.stdin.on("error", () => undefined).end(JSON.stringify(job));
  await new Promise((resolve) => child.once("close", resolve));
  let [last, verdicts]: [string | null, Map<string, Verdict> | null] = [null, null];
  for (const line of out().split("\n").slice(0, -1)) {
    const said = JSON.parse(line) as { readonly last?: string; readonly verdicts?: Record<string, Verdict> };
    last = said.last ?? last;
    if (said.verdicts !== undefined) verdicts = new Map(Object.entries(said.verdicts));
  }
  return { verdicts, last, reason: errors().slice(-REASON_MAX) };
}

function textOf(stream: NodeJS.ReadableStream): () => string {
  const chunks: Buffer[] = [];
  stream.on("data", (chunk: Buffer) => chunks.push(chunk));
  return () => Buffer.concat(chunks).toString();
}
