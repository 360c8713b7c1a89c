import { cp, mkdir, readdir, realpath } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import type { EngineOptions } from "../../../src/glovebox/index.ts";
import { createEngine, type Engine } from "../../../src/glovebox/index.ts";
import { newFolder } from "../../kernel/tool/package/opening.ts";
import { noJail } from "../../kernel/broker/capabilities/exec/opened.ts";

/** Why the binaries of the fixtures cannot be run on this machine; nothing where they can. */
export const noBinaries = process.arch === "x64" ? noJail : `they are for x64, and this is ${process.arch}`;

const FOLDER = fileURLToPath(new URL("../../../fixtures/binaries/native/", import.meta.url));
export const INCREMENT = `${FOLDER}increment.elf`;
export const HAZARDS = `${FOLDER}hazards.elf`;
const RECORD = fileURLToPath(
  new URL("../../../fixtures/contracts/agentspace/binary-increment-tool/tool.json", import.meta.url),
);

/** An engine whose policy lets tools run their binaries, closed when the test ends. */
export async function openEngine(options: EngineOptions = {}): Promise<Engine> {
  const policy = { rules: [{ allow: { native: true } }] } as const;
  const engine = await createEngine({ workers: 1, executor: "threads", policy, ...options });
  onTestFinished(() => engine.close());
  return engine;
}

/** The guide's binary as a package: a folder with its record, as somebody unpacked it. */
export async function newPackage(binary = INCREMENT): Promise<string> {
  const folder = path.join(await newFolder(), "binary-tool-v1");
  await mkdir(path.join(folder, "code"), { recursive: true });
  await cp(binary, path.join(folder, "code", "binary_increment"));
  await cp(RECORD, path.join(folder, "tool.json"));
  return folder;
}

/** The folders that engines of all processes keep binaries in, with what is in them. */
export async function keptFiles(): Promise<readonly string[]> {
  const parent = await realpath(tmpdir());
  const folders = (await readdir(parent)).filter((name) => name.startsWith("glovebox-native-"));
  const files = await Promise.all(folders.map((name) => readdir(path.join(parent, name)).catch(() => [])));
  return files.flatMap((names, at) => names.map((name) => `${folders[at]}/${name}`));
}
