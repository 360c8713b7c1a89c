import { adviceOn, NODE_NAME } from "../../guest/host.ts";
import { isInLibrary } from "./node-names.ts";

/** A name of Node's that a tool uses. */
export interface NodeName {
  /** `node:module`, `node:module.member` if a single member is imported, or a global. */
  readonly name: string;
  /** The replacement for a name that refuses its use; absent for one that works. */
  readonly instead?: string;
}

const USE = new RegExp(String.raw`\b${NODE_NAME}\.(?:(?:require|member)\("([\w./]+)"(?:, "([\w$]+)")?\)|(\w+))`, "g");
const MAX_NAMES = 200;

/** Modules that refuse only without a grant, or only the search for modules. */
const USABLE = /^(?:fs(?:\/promises)?|module)$/;
/** Members that need no process and no socket, of modules which need one. */
const HARMLESS: ReadonlyMap<string, readonly string[]> = new Map([
  ["cluster", ["isPrimary", "isMaster", "isWorker", "workers", "settings"]],
  ["dns", ["promises", "getServers", "getDefaultResultOrder", "setDefaultResultOrder"]],
  ["http2", ["constants", "sensitiveHeaders"]],
  ["net", ["isIP", "isIPv4", "isIPv6", "getDefaultAutoSelectFamily", "setDefaultAutoSelectFamily"]],
  ["tls", ["DEFAULT_MIN_VERSION", "DEFAULT_MAX_VERSION", "rootCertificates", "getCiphers", "checkServerIdentity"]],
  ["vm", ["Script", "runInThisContext", "isContext", "constants"]],
  ["worker_threads", ["isMainThread", "parentPort", "workerData", "threadId", "MessageChannel", "MessagePort"]],
]);

/** Node's names in a bundle, sorted: at most 200, and those that refuse first. */
export function nodeNamesIn(text: string): readonly NodeName[] {
  const names = new Map<string, NodeName>();
  for (const [, module, member, global] of text.matchAll(USE)) {
    if (global === "absent") continue;
    const name = module === undefined ? (global ?? "") : `node:${module}${member === undefined ? "" : `.${member}`}`;
    if (names.has(name)) continue;
    const instead = module === undefined ? undefined : refusedFor(module, member);
    names.set(name, instead === undefined ? { name } : { name, instead });
  }
  const all = [...names.values()].toSorted((one, other) => (one.name < other.name ? -1 : 1));
  return [...all.filter(isRefused), ...all.filter((one) => !isRefused(one))].slice(0, MAX_NAMES);
}

export function isRefused({ instead }: NodeName): boolean {
  return instead !== undefined;
}

function refusedFor(module: string, member: string | undefined): string | undefined {
  if (isInLibrary(module) || USABLE.test(module)) return undefined;
  if (member !== undefined && HARMLESS.get(module)?.includes(member) === true) return undefined;
  return adviceOn(module, member ?? "");
}
