import type { Capability } from "./capability.ts";
import { createEnv } from "./env.ts";
import { createExec } from "./exec/exec.ts";
import type { FetchOptions } from "./fetch/connections.ts";
import { createFetch } from "./fetch/fetch.ts";
import { createFs } from "./fs/fs.ts";
import { createKv } from "./kv/kv.ts";
import type { KvStore } from "./kv/kv-store.ts";
import type { SecretViolation } from "./secrets/placeholders.ts";
import { type Secrets, secretsCapability } from "./secrets/secrets.ts";

/** Options of the capabilities that the broker carries out itself. */
export interface ThreadCapabilityOptions {
  /** Without variables that contain secrets. */
  readonly environment: NodeJS.ProcessEnv;
  readonly fetch: FetchOptions;
  /** Opens the store of `kv`, when a call first has it. */
  readonly openKv: () => KvStore;
  readonly secrets: Secrets;
  readonly onSecretViolation: (violation: SecretViolation) => void;
}

/** Capabilities of the broker itself. They open nothing before a call uses them. */
export function threadCapabilities(options: ThreadCapabilityOptions): readonly Capability[] {
  const { environment, fetch, openKv, secrets, onSecretViolation } = options;
  return [
    createEnv(environment),
    createExec(),
    createFetch(secrets, fetch, onSecretViolation),
    createFs(),
    createKv(openKv),
    secretsCapability,
  ] as readonly Capability[];
}
