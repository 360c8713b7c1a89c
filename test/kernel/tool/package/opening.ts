import { realpathSync } from "node:fs";
import { lstat, mkdir, mkdtemp, readdir, readFile, realpath, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { threadId } from "node:worker_threads";
import { onTestFinished } from "vitest";
import { Connections, type FetchOptions } from "../../../../src/kernel/broker/capabilities/fetch/connections.ts";
import { RUNTIMES } from "../../../../src/standard/plugins.ts";
import { projectsOf } from "../../../../src/kernel/tool/runtimes/runtime.ts";
import { openPackage, type PackageContext, type ToolPackage } from "../../../../src/kernel/tool/package/open.ts";
import { type PackageOptions, resolvePackageOptions } from "../../../../src/kernel/tool/package/options.ts";
import type { PackageEvent } from "../../../../src/kernel/tool/package/step.ts";

/** Where temporary folders are made unless a test says otherwise. */
const BASE = os.tmpdir();

/** What opening packages needs, and what was heard of it. */
export interface TestContext extends PackageContext {
  readonly events: readonly PackageEvent[];
}

export function newContext(options: PackageOptions = {}, fetch: FetchOptions = {}): TestContext {
  const connections = new Connections(fetch);
  onTestFinished(() => connections.close());
  const events: PackageEvent[] = [];
  const resolved = resolvePackageOptions(options);
  return {
    options: resolved,
    projects: projectsOf(RUNTIMES),
    connections: () => connections,
    tell: (event) => events.push(event),
    events,
  };
}

/** A folder that goes when the test ends. */
export async function newFolder(): Promise<string> {
  const folder = await realpath(await mkdtemp(path.join(BASE, "glovebox-test-")));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** The same with files in it. */
export async function newTree(files: Readonly<Record<string, string | Buffer>>): Promise<string> {
  const folder = await newFolder();
  for (const [name, content] of Object.entries(files)) {
    await mkdir(path.dirname(path.join(folder, name)), { recursive: true });
    await writeFile(path.join(folder, name), content);
  }
  return folder;
}

/** The same for all tests: build processes write only where they could from their start. */
const WATCHED = path.join(realpathSync(BASE), `glovebox-watched-${process.pid}-${threadId}`);

/**
 * From now on until the test ends, temporary folders are made in one of the test's own: so that it can be seen what is
 * left there.
 */
export async function watchTemporary(): Promise<() => Promise<readonly string[]>> {
  const before = process.env["TMPDIR"];
  await mkdir(WATCHED, { recursive: true });
  process.env["TMPDIR"] = WATCHED;
  onTestFinished(async () => {
    if (before === undefined) delete process.env["TMPDIR"];
    else process.env["TMPDIR"] = before;
    await rm(WATCHED, { recursive: true, force: true });
  });
  return () => readdir(WATCHED);
}

/** Writes an archive to disk and opens it. */
export async function openArchive(
  name: string,
  bytes: Buffer,
  context: PackageContext = newContext(),
): Promise<ToolPackage> {
  const folder = await newTree({ [name]: bytes });
  return openPackage(path.join(folder, name), context);
}

/** All files below a folder, with their content, and their modes. */
export async function filesIn(folder: string): Promise<Record<string, string>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files: Record<string, string> = {};
  for (const entry of entries) {
    const file = path.join(entry.parentPath, entry.name);
    const { mode } = await lstat(file);
    const expected = entry.isDirectory() ? 0o40700 : 0o100600;
    if (mode !== expected) throw new Error(`${entry.name} has the mode ${mode.toString(8)}`);
    if (!entry.isDirectory()) files[path.relative(folder, file)] = await readFile(file, "utf8");
  }
  return files;
}
