import { once } from "node:events";
import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import {
  createRegistry,
  type RegistrationRecord,
  type Registry,
  type RegistryOptions,
} from "../../../src/contrib/agentspace/index.ts";
import { createEngine, type Engine, type EngineOptions } from "../../../src/glovebox/index.ts";

const FIXTURES = fileURLToPath(new URL("../../../fixtures/contracts/agentspace", import.meta.url));

/** A sample's record, with its package where it is in this repository. */
export function sample(toolId: string, changes: Partial<RegistrationRecord> = {}): RegistrationRecord {
  const record = JSON.parse(readFileSync(join(FIXTURES, toolId, "tool.json"), "utf8")) as RegistrationRecord;
  return { ...record, tool_source_code_link: join(FIXTURES, toolId), ...changes };
}

/** A module's file, in a folder of its own. */
export async function moduleFile(text: string): Promise<string> {
  const file = join(await temporaryFolder(), "function.js");
  await writeFile(file, text);
  return file;
}

/** A folder that goes when the test ends. */
export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "glovebox-agentspace-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** An engine and a registry on it that are closed when the test ends. */
export async function startBench(
  engineOptions: EngineOptions = {},
  registryOptions: RegistryOptions = { path: ":memory:" },
): Promise<{ readonly engine: Engine; readonly registry: Registry }> {
  const engine = await createEngine({ workers: 1, executor: "threads", ...engineOptions });
  onTestFinished(() => engine.close());
  return { engine, registry: await openRegistry(engine, registryOptions) };
}

export async function openRegistry(engine: Engine, options: RegistryOptions): Promise<Registry> {
  const registry = await createRegistry(engine, options);
  onTestFinished(() => registry.close());
  return registry;
}

/** An HTTP server on a free port of this machine, which goes when the test ends; answers its origin. */
export async function serve(answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<string> {
  const server = createServer(answer);
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
