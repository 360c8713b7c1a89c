import type { Capability } from "./capability.ts";
import { asCapability } from "./custom.ts";
import type { CustomCapability } from "./custom-types.ts";
import { createConnector, type RemoteServers } from "./connector/connector.ts";
import { createEnv } from "./env.ts";
import { createExec } from "./exec/exec.ts";
import { createFs } from "./fs/fs.ts";
import { createKv, type KvStoreOptions } from "./kv/kv.ts";
import type { BinaryFiles } from "./native/binaries.ts";
import { createNative } from "./native/native.ts";
import type { FetchOptions } from "./fetch/connections.ts";
import { createFetch } from "./fetch/fetch.ts";
import type { SecretViolation } from "./secrets/placeholders.ts";
import { type SecretOptions, type Secrets, secretsCapability } from "./secrets/secrets.ts";
import { createTools } from "./tools.ts";
import type { PlacedCapability } from "../thread/remote-capability.ts";

/** Options of the capabilities that run on the broker thread. */
export interface ThreadCapabilityOptions {
  readonly binaries: BinaryFiles;
  readonly fetch: FetchOptions;
  readonly secrets: Secrets;
  readonly servers: RemoteServers;
  readonly onSecretViolation: (violation: SecretViolation) => void;
}

/** Options from which an engine's capabilities are created. */
export interface CapabilityOptions extends ThreadCapabilityOptions {
  readonly kv: KvStoreOptions;
  readonly custom: readonly CustomCapability[];
  readonly environment: NodeJS.ProcessEnv;
  /** Names of the secrets' variables, which no tool may read from the environment. */
  readonly secretOptions: { readonly [name: string]: SecretOptions };
  /** Places a capability on the broker thread. Default: all are here. */
  readonly place?: (capability: Capability) => PlacedCapability;
}

/** Capabilities whose work grows with the bytes of tools, of servers and of files. */
export function threadCapabilities(options: ThreadCapabilityOptions): readonly Capability[] {
  const { binaries, fetch, secrets, servers, onSecretViolation } = options;
  const fetching = createFetch(secrets, fetch, onSecretViolation);
  return [
    createConnector(servers),
    createExec(),
    fetching,
    createFs(),
    createNative(binaries),
  ] as readonly Capability[];
}

/** Creates the built-in and the embedder's capabilities. Throws if one of them is invalid. */
export function createCapabilities(options: CapabilityOptions): readonly PlacedCapability[] {
  const { custom, environment, kv, secrets, secretOptions, place = (capability) => capability } = options;
  return [
    createEnv(environment, secretOptions),
    ...threadCapabilities(options).map(place),
    // A row at a time, which takes less time than the way to another thread and back.
    createKv(kv) as Capability,
    secretsCapability as Capability,
    createTools() as Capability,
    ...customCapabilities(custom, (text) => secrets.redact(text)),
  ];
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
