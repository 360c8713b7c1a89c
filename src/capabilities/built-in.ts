import type { Capability } from "./capability.ts";
import { asCapability, type CustomCapability } from "./custom.ts";
import { createEnv } from "./env.ts";
import { createFs } from "./fs/fs.ts";
import { createTools } from "./tools.ts";

/** Of what an engine's capabilities are made. */
export interface CapabilityOptions {
  readonly custom: readonly CustomCapability[];
  readonly environment: NodeJS.ProcessEnv;
}

/** All that tools can ever ask of an engine. */
export interface Capabilities {
  readonly capabilities: readonly Capability[];
  /** Takes secrets out of a text. */
  readonly redact: (text: string) => string;
}

/** Makes the capabilities of the engine's own and the embedder's ready. */
export function createCapabilities({ custom, environment }: CapabilityOptions): Capabilities {
  const builtIn = [createEnv(environment), createFs(), createTools()];
  return { capabilities: [...builtIn, ...custom.map(asCapability)], redact: (text) => text };
}
