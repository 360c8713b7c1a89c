import type { Capability } from "./capability.ts";
import { asCapability, type CustomCapability } from "./custom.ts";
import { createEnv } from "./env.ts";
import { createExec } from "./exec/exec.ts";
import { createFs } from "./fs/fs.ts";
import { createKv, type KvStoreOptions } from "./kv/kv.ts";
import type { Binaries } from "./native/binaries.ts";
import { createNative } from "./native/native.ts";
import type { FetchOptions } from "./fetch/connections.ts";
import { createFetch } from "./fetch/fetch.ts";
import type { SecretViolation } from "./secrets/placeholders.ts";
import { type SecretOptions, Secrets, secretsCapability } from "./secrets/secrets.ts";
import { createTools } from "./tools.ts";

/** Options from which an engine's capabilities are created. */
export interface CapabilityOptions {
  readonly custom: readonly CustomCapability[];
  readonly environment: NodeJS.ProcessEnv;
  readonly kv: KvStoreOptions;
  readonly binaries: Binaries;
  readonly fetch: FetchOptions;
  readonly secrets: { readonly [name: string]: SecretOptions };
  readonly onSecretViolation: (violation: SecretViolation) => void;
}

/** Creates the built-in and the embedder's capabilities. Throws if one of them is invalid. */
export function createCapabilities(options: CapabilityOptions): readonly Capability[] {
  const { custom, environment, fetch, kv, binaries } = options;
  const secrets = new Secrets(options.secrets, environment);
  const builtIn = [
    createEnv(environment, options.secrets),
    createExec(),
    createFetch(secrets, fetch, options.onSecretViolation),
    createFs(),
    createKv(kv),
    createNative(binaries),
    secretsCapability,
    createTools(),
  ];
  return [...builtIn, ...customCapabilities(custom, (text) => secrets.redact(text))];
}

function customCapabilities(
  custom: readonly CustomCapability[],
  redact: (text: string) => string,
): readonly Capability[] {
  const names = new Set<string>();
  return custom.map((one) => {
    const capability = asCapability(one, redact);
    if (names.has(capability.name)) throw new TypeError(`there are two capabilities "${capability.name}"`);
    names.add(capability.name);
    return capability;
  });
}
