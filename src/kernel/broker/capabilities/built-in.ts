import type { Capability } from "./capability.ts";
import { asCapability } from "./custom.ts";
import type { CustomCapability } from "./custom-types.ts";
import { decidedHere, type ModuleCapability } from "./module-capability.ts";
import { createPause } from "./pause.ts";
import type { Secrets } from "./secrets/secrets.ts";
import { type ThreadCapabilityOptions, threadCapabilities } from "./thread-capabilities.ts";
import { createTools } from "./tools.ts";

/** Options from which an engine's capabilities are created. */
export interface CapabilityOptions extends Omit<ThreadCapabilityOptions, "openKv"> {
  readonly custom: readonly CustomCapability[];
  readonly modules: readonly ModuleCapability[];
}

/** The capabilities of an engine, by the thread that carries out their methods. */
export interface EngineCapabilities {
  readonly broker: readonly Capability[];
  /** Those whose handlers are closures of the embedder's thread. */
  readonly host: readonly Capability[];
}

/** Creates the built-in capabilities, those of packages and the embedder's. Throws if one of them is invalid. */
export function createCapabilities(options: CapabilityOptions): EngineCapabilities {
  const { custom, modules, secrets } = options;
  return {
    broker: [...threadCapabilities({ ...options, openKv: openElsewhere }), ...modules.map(decidedHere)],
    host: [createTools() as Capability, createPause() as Capability, ...customCapabilities(custom, secrets)],
  };
}

/** The engine's thread decides on calls of `kv`, and carries none out. */
function openElsewhere(): never {
  throw new TypeError("the store of kv is opened by the broker's thread");
}

function customCapabilities(custom: readonly CustomCapability[], secrets: Secrets): readonly Capability[] {
  const names = new Set<string>();
  return custom.map((one) => {
    const capability = asCapability(one, (text) => secrets.redact(text));
    if (names.has(capability.name)) throw new TypeError(`there are two capabilities "${capability.name}"`);
    names.add(capability.name);
    return capability;
  });
}
