/** The command line in the process of the tests. */
import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
// It keeps the folder in which it is first imported, and starts its process there: not one that a command has, and leaves.
import "esbuild";
import { vi } from "vitest";
import { runCommandLine } from "../../src/cli/run-command-line.ts";
import { MAIN } from "../server/served.ts";

export { ROOT } from "../server/served.ts";

export interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

let last: Promise<unknown> = Promise.resolve();

/**
 * Runs a command to its end in this process, which has its folder, its environment and its output meanwhile: so one runs
 * at a time. A process of its own, as `cli.system.test.ts` starts it, takes several times as long. A variable that is
 * `undefined` is not set.
 */
export function glovebox(cwd: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Ended> {
  const ended = last.then(() => runHere(cwd, args, env));
  last = ended.catch(() => undefined);
  return ended;
}

async function runHere(cwd: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<Ended> {
  using kept = new DisposableStack();
  const own = { cwd: process.cwd(), env: { ...process.env }, exitCode: process.exitCode };
  kept.defer(() => {
    process.chdir(own.cwd);
    setEnvironment(own.env);
    process.exitCode = own.exitCode;
  });
  const stdout = kept.use(captured(process.stdout));
  const stderr = kept.use(captured(process.stderr));
  process.chdir(cwd);
  setEnvironment({ ...own.env, ...env });
  process.exitCode = undefined;
  await runCommandLine(args);
  return { code: Number(process.exitCode ?? 0), stdout: stdout.text(), stderr: stderr.text() };
}

function setEnvironment(env: NodeJS.ProcessEnv): void {
  for (const name of Object.keys(process.env)) if (env[name] === undefined) delete process.env[name];
  for (const [name, value] of Object.entries(env)) if (value !== undefined) process.env[name] = value;
}

function captured(stream: NodeJS.WriteStream): Disposable & { text(): string } {
  const chunks: Buffer[] = [];
  const write = (chunk: string | Uint8Array, ...rest: readonly unknown[]): boolean => {
    chunks.push(Buffer.from(chunk as string));
    const done = rest.at(-1);
    if (typeof done === "function") done();
    return true;
  };
  const spy = vi.spyOn(stream, "write").mockImplementation(write);
  return { text: () => Buffer.concat(chunks).toString(), [Symbol.dispose]: () => spy.mockRestore() };
}

/** Puts the command into a folder, for a `PATH` with it. */
export async function addCommand(folder: string): Promise<void> {
  const command = [process.execPath, ...MAIN].map((part) => `'${part}'`).join(" ");
  await writeFile(join(folder, "glovebox"), `#!/bin/sh\nexec ${command} "$@"\n`);
  await chmod(join(folder, "glovebox"), 0o755);
}
