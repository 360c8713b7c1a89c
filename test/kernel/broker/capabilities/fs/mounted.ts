import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, onTestFinished } from "vitest";
import { CapabilityRefusal, type CapabilityRequest } from "../../../../../src/kernel/broker/capabilities/capability.ts";
import { createFs, type FsOptions } from "../../../../../src/kernel/broker/capabilities/fs/fs.ts";
import { fsFace } from "../../../../../src/kernel/guest/faces/fs.ts";

type Asked = NonNullable<CapabilityRequest["fs"]>;

/** The face has no types of its own: it has to do for who knows Node's. */
type NodeFs = typeof import("node:fs/promises");
type ToolFs = Omit<NodeFs, "readFile"> & {
  readFile(
    path: string,
    options?: string | { encoding?: string; position?: number; length?: number },
  ): Promise<unknown>;
};

/** A tool's `host.fs`, and the folders of the host behind it. */
export interface Mounted {
  readonly fs: ToolFs;
  /** What is mounted as `data`, for reading and writing, and as `fixed`, for reading. */
  readonly folder: string;
  /** Beside it, and not mounted: it holds `secret.txt`. */
  readonly outside: string;
  /** Everything that the host said to the tool, as one text. */
  readonly heard: () => string;
  /** The call ends. */
  readonly end: () => Promise<void>;
}

export interface MountOptions extends FsOptions {
  readonly files?: Record<string, string | Uint8Array>;
  readonly more?: Asked;
}

export const SECRET = "the secret that lies outside";

const MOUNTS: Asked = { data: { mode: "rw" }, fixed: { mode: "ro" }, scratch: { mode: "rw" } };

/** Mounts a folder that holds `files`. When the test ends, the host has said nothing that names a folder of its own. */
export async function mounted({ files = {}, more = {}, ...options }: MountOptions = {}): Promise<Mounted> {
  const base = await realpath(await mkdtemp(path.join(tmpdir(), "glovebox-fs-")));
  const [folder, outside] = [path.join(base, "folder"), path.join(base, "outside")];
  for (const each of [folder, outside]) await mkdir(each);
  await writeFile(path.join(outside, "secret.txt"), SECRET);
  for (const [name, content] of Object.entries(files)) {
    await mkdir(path.dirname(path.join(folder, name)), { recursive: true });
    await writeFile(path.join(folder, name), content);
  }
  const fs = createFs(options);
  const policy = { data: { path: folder, mode: "rw" }, fixed: { path: folder, mode: "ro" }, scratch: { mode: "rw" } };
  const asked = fs.grants.read(
    { ...MOUNTS, ...Object.fromEntries(Object.entries(more).map(([name, { mode }]) => [name, { mode }])) },
    "request",
  );
  const granted = fs.grants.meet(asked, fs.grants.read({ ...policy, ...more }, "policy"));
  if (granted === null) throw new Error("nothing was granted");
  const abort = new AbortController();
  const callTool = () => Promise.reject(new Error("there are no other tools"));
  const open = fs.open({ callId: "c", tool: "t", signal: abort.signal, callTool, grantsOf: () => [] }, [granted]);
  const heard: string[] = [];
  const face = fsFace(async (_capability, method, args) => {
    try {
      // As the broker does: the arguments and the answer are JSON.
      const answer = JSON.stringify(await open.invoke(method, JSON.parse(JSON.stringify(args)), 1));
      heard.push(answer);
      return JSON.parse(answer) as unknown;
    } catch (error) {
      heard.push(error instanceof CapabilityRefusal ? JSON.stringify([error.message, error.refused]) : String(error));
      throw error;
    }
  }) as ToolFs;
  const end = async (): Promise<void> => {
    abort.abort();
    await open.close?.();
    await fs.close?.();
  };
  onTestFinished(async () => {
    await end();
    await rm(base, { recursive: true, force: true });
    expect(heard.filter((said) => /glovebox-fs-|\/proc\/self\/fd|glovebox-scratch/.test(said))).toEqual([]);
  });
  return { fs: face, folder, outside, heard: () => heard.join("\n"), end };
}

/** The code of what a promise rejects with; a refusal's outcome. */
export async function codeOf(promise: Promise<unknown>): Promise<string> {
  try {
    await promise;
    return "ok";
  } catch (error) {
    if (error instanceof CapabilityRefusal) return error.outcome;
    return (error as { code?: string }).code ?? String(error);
  }
}
