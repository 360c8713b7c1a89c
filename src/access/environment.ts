import { ROLES } from "./caller.ts";
import type { KeyOptions } from "./key-options.ts";

/** A list of keys as JSON, as a configuration has it. */
const LIST = "GLOVEBOX_KEYS";
/** One key, for everything: a lone administrator's. */
const ONE = "GLOVEBOX_KEY";
const LIST_MAX = 1024 * 1024;

/**
 * The keys of the environment's variables `GLOVEBOX_KEYS` and `GLOVEBOX_KEY`. What they are is checked with all others.
 * Throws a `TypeError` where the list cannot be read, which shows nothing of it.
 */
export function keysOfEnvironment(environment: NodeJS.ProcessEnv): readonly KeyOptions[] {
  const list = environment[LIST] ?? "";
  const keys = list.trim() === "" ? [] : readList(list);
  if ((environment[ONE] ?? "").trim() === "") return keys;
  return [...keys, { name: "admin", env: ONE, tenant: null, roles: ROLES }];
}

/** Takes keys out of the environment once they have been read: what is not there, nobody finds. */
export function forgetKeys(environment: NodeJS.ProcessEnv, keys: readonly KeyOptions[]): void {
  delete environment[LIST];
  for (const key of keys) {
    if ("env" in key) delete environment[key.env];
  }
}

function readList(text: string): readonly KeyOptions[] {
  const wrong = `${LIST} is not a list of keys in JSON, such as [{"name":"ops","hash":"sha256:…","tenant":"ops","roles":["admin"]}]`;
  if (text.length > LIST_MAX) throw new TypeError(`${LIST} has more than ${LIST_MAX} characters`);
  let list: unknown;
  try {
    list = JSON.parse(text);
  } catch {
    // What cannot be parsed is cited by the parser, and may be a key.
    throw new TypeError(wrong);
  }
  if (!Array.isArray(list)) throw new TypeError(wrong);
  return list as readonly KeyOptions[];
}
