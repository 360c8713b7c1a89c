import { library, type NodeModule } from "./inner/library.ts";

/** `node:dns`: its functions refuse, those of `promises` by a rejection. */
const NAMES = [
  "lookup",
  "lookupService",
  "resolve",
  "resolve4",
  "resolve6",
  "resolveAny",
  "resolveCname",
  "resolveMx",
  "resolveNs",
  "resolveSrv",
  "resolveTxt",
  "reverse",
];

const promises = NAMES.map((name) => [name, async () => Promise.reject(library.refusal("dns", name))] as const);

export const shared: NodeModule = {
  promises: Object.fromEntries(promises),
  ADDRCONFIG: 32,
  ALL: 16,
  V4MAPPED: 8,
  getDefaultResultOrder: () => "verbatim",
  setDefaultResultOrder: () => undefined,
  getServers: () => [],
};
