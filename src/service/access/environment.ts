import { ROLES } from "./caller.ts";
import type { KeyOptions } from "./key-options.ts";

/** A list of keys, as a configuration has it: read with the other settings. */
const LIST = "GLOVEBOX_KEYS";
/** One key, for everything: a lone administrator's. */
const ONE = "GLOVEBOX_KEY";

/** The key of the environment's variable `GLOVEBOX_KEY`, where it has one. What it is, is checked with all others. */
export function keyOfEnvironment(environment: NodeJS.ProcessEnv): readonly KeyOptions[] {
  if ((environment[ONE] ?? "").trim() === "") return [];
  return [{ name: "admin", env: ONE, tenant: null, roles: ROLES }];
}

/** Takes keys out of the environment once they have been read: what is not there, nobody finds. */
export function forgetVariables(environment: NodeJS.ProcessEnv, keys: readonly KeyOptions[]): void {
  delete environment[LIST];
  delete environment[ONE];
  for (const key of keys) {
    if ("env" in key) delete environment[key.env];
  }
}
