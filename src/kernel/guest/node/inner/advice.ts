/** Replacements of modules of Node that need a process, sockets or threads of their own. */
const ADVICE: ReadonlyMap<string, string> = new Map([
  ["child_process", 'use context.host.exec, with a grant of the capability "exec"'],
  ["cluster", "a call has one thread; make several calls, which the engine runs beside each other"],
  ["dgram", "use fetch, or a custom capability of the host"],
  ["dns", 'names are resolved by the host; use fetch, with a grant of the capability "fetch"'],
  ["fs", 'use fs.promises or context.host.fs, with a grant of the capability "fs"'],
  ["http", 'a tool has no server and no sockets; use fetch or http.request, with a grant of the capability "fetch"'],
  ["http2", 'use fetch, with a grant of the capability "fetch"'],
  ["https", 'a tool has no server and no sockets; use fetch or https.request, with a grant of the capability "fetch"'],
  ["module", "a tool is bundled with all its modules; import them by name"],
  ["net", 'use fetch, with a grant of the capability "fetch", or a custom capability of the host'],
  ["repl", "a tool has no terminal; take what it needs as arguments"],
  [
    "readline",
    "a tool has no terminal; take what it needs as arguments, or give createInterface a stream as its input",
  ],
  ["sqlite", 'use context.host.kv, with a grant of the capability "kv", or a custom capability of the host'],
  ["tls", 'use fetch, with a grant of the capability "fetch"'],
  ["vm", "the isolate is the sandbox already; use new Function for code that the tool makes"],
  ["wasi", 'register the command as a tool with the runtime "wasi"'],
  ["worker_threads", "a call has one thread; make several calls, which the engine runs beside each other"],
  ["WebAssembly", 'use a package in JavaScript, or a tool with the runtime "wasi"'],
  ["zlib", "use gzip or deflate, which are there"],
  ["crypto", "use another algorithm, or a custom capability of the host"],
]);

/** Globals of Node without a stand-in in the realm itself. */
export const ABSENT_GLOBALS = [
  "SharedArrayBuffer",
  "BroadcastChannel",
  "WebAssembly",
  "FinalizationRegistry",
  "WeakRef",
];

const REFUSED = " does not exist inside an isolate: ";
const UNDEFINED = new RegExp(String.raw`\b(${ABSENT_GLOBALS.join("|")}) is not defined$`);

/** Message of the error for a refused member of a module. */
export function refusalOf(module: string, member: string): string {
  return `${module}.${member}${REFUSED}${adviceOn(module, member)}`;
}

/** The message of an error, with the text of a refusal if V8 reports that such a global does not exist. */
export function explained(message: string): string {
  return message.replace(UNDEFINED, (_, name: string) => `${name}${REFUSED}${adviceOn(name, "")}`);
}

/**
 * Whether an error reports a feature that an isolate cannot have. A tool may throw such an error too, and catch it as
 * well.
 */
export function saysAbsent(message: string): boolean {
  const [name = ""] = message.split(REFUSED, 1);
  return name !== message && /^[\w./]+$/.test(name);
}

/** End of a sentence: the alternative to a member of a module. */
export function adviceOn(module: string, member: string): string {
  const [root = module] = module.split("/");
  if (module === "process") return processAdvice(member);
  return ADVICE.get(root) ?? "use a capability of the host instead";
}

function processAdvice(member: string): string {
  if (member === "dlopen")
    return 'an isolate loads no native addons; use a package in JavaScript, a tool with the runtime "native", or a custom capability of the host';
  return member === "exit" || member === "abort" || member === "kill"
    ? "throw an error to end the call"
    : "use a capability of the host instead";
}
