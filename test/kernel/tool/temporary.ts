import { mkdtemp, mkdir, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { onTestFinished } from "vitest";
import { GloveboxError } from "../../../src/kernel/base/errors.ts";

/** A folder that holds `files`, or nothing, and goes when the test ends. */
export async function temporaryFolder(files: Record<string, string> = {}): Promise<string> {
  const folder = await realpath(await mkdtemp(path.join(tmpdir(), "glovebox-tool-")));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) {
    await mkdir(path.dirname(path.join(folder, name)), { recursive: true });
    await writeFile(path.join(folder, name), text);
  }
  return folder;
}

/** The error that a promise rejects with: it has to be one of ours. */
export async function refusalOf(promise: Promise<unknown>): Promise<GloveboxError> {
  const error: unknown = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof GloveboxError) return error;
  throw new Error("it was not refused with a GloveboxError", { cause: error });
}
