import { builtinModules } from "node:module";
import { adviceOn } from "../../src/kernel/guest/node/inner/advice.ts";
import { isInLibrary, NODE_GLOBALS } from "../../src/kernel/tool/bundle/node-names.ts";
import { page, table } from "./markdown.ts";

const INTRODUCTION = `An import of any of Node's modules works, with \`node:\` and without. What an isolate cannot have throws an error when it is used: its message says what to use instead, its
\`code\` is \`ERR_FEATURE_UNAVAILABLE_ON_PLATFORM\`. A tool that names none of these has none of them, and pays nothing for them.

The library is evaluated once for an isolate and frozen: \`Buffer.prototype\` and the like cannot be changed, by no tool. What a module keeps, such as \`events.defaultMaxListeners\`, \`util.inspect.defaultOptions\`,
\`process.env\` or a replaced member of \`fs\`, belongs to the call, or to the module where \`isolation\` is \`shared\`.`;

const NOTES = `- \`process.env\` has \`NODE_ENV\`, and the [variables](../how-to/capabilities.md#env) that \`capabilities.env\` of the tool names and the policy grants the call. \`process.stdout\` and \`stderr\` write to the call's log. \`process.version\` is a version of Node; \`os\` and \`process\` tell nothing of the host.
- \`fs.promises\` and functions with callbacks use the capability \`fs\`. Without it, and by synchronous ones, a tool reads [the files that it brought](../tutorials/bring-your-tools.md#from-a-monorepo); any other ends synchronous ones with \`ENOENT\`.
- \`performance.mark\`, \`measure\` and \`PerformanceObserver\` go by the call's clock, which stands still within a turn.
- \`http.request\` and \`https.request\` use \`fetch\`: the capability decides, a body is sent when the request ends, redirects are not followed.
- \`AsyncLocalStorage\`: as in Node, also in runs side by side: a bundle that uses it is made without asynchronous functions, of which an isolate does not say what they continue. \`.then\` of a promise that the host or one of Node's modules made loses the store, and \`await\` keeps it. A module that awaits at its top level cannot use it.
  Wrong is code after an \`await\` where several runs of one storage are pending that did not begin within each other, as with \`Promise.all\`: it gets the store of the run that began last, and the call's log has a warning where the stores differ. A timer that fires when its run has settled gets no store.
- \`crypto\` has hashes, HMAC, HKDF, PBKDF2, scrypt, AES (CBC, CTR, ECB, GCM), ChaCha20-Poly1305, RSA, ECDSA and ECDH (P-256, P-384, P-521, secp256k1), Ed25519, Ed448, X25519, X448. \`crypto.subtle\` has the same, also
  without an import. RSA is computed by integers of the language: some milliseconds for a signature of 2048 bits, and not in constant time.
- \`zlib\` has deflate and gzip, not Brotli and Zstandard.
- \`WebSocket\` and \`EventSource\` use the grants of [\`fetch\`](../how-to/capabilities.md#websocket-and-eventsource). The constructor of a tool that does not ask for \`fetch\` throws \`capability_denied\`. The package
  \`ws\` in its form for browsers throws: use the global \`WebSocket\`.
- Of the package \`undici\`, \`fetch\` and the web's classes are the isolate's own; its \`request\`, clients and pools send by \`http.request\`. The adapter \`http\` of \`axios\` sends by \`fetch\`.
- A package is taken in its form for browsers and workers. It is taken in Node's, with all that it imports, where that one needs a document, lacks what is imported, or never names what Node's exports; and where its \`exports\` tell \`node\` from all else and Node's form uses more of Node's modules. The last two not where Node's form needs the network or what an isolate has only names of. \`require()\` of a computed name in a package finds the modules of one of its folders; \`import()\` of one finds Node's modules, and fails for others when it is called.
- Native addons and WebAssembly are refused when they are loaded. Servers of \`http\` are made, and their \`listen\` throws.
- A warm tool with \`Buffer\` and \`createHmac\` holds 0.8 MB of heap more than one without names of Node.`;

/** Modules that the oldest Node does not have. */
const NEWER: ReadonlySet<string> = new Set(["ffi"]);

/** The page of Node's names. */
export function nodePage(): string {
  const all = builtinModules.map((name) => name.replace(/^node:/, ""));
  const names = all.filter((name) => !name.startsWith("_") && !NEWER.has(name));
  const rows = names.toSorted().map((name) => {
    const root = name.split("/")[0] ?? name;
    return [`\`${name}\``, isInLibrary(name) ? "a library" : `names and values; else ${adviceOn(root, "")}`];
  });
  const globals = [...NODE_GLOBALS, "global", "__dirname", "__filename"].map((name) => `\`${name}\``).join(", ");
  return page("Node's names", [
    INTRODUCTION,
    `Globals, where a module names them: ${globals}.`,
    NOTES,
    table(["module", "inside an isolate"], rows),
  ]);
}
