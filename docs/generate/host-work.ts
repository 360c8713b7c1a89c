import { ENGINE_HELD, TENANT_HELD } from "../../src/base/tenant-account.ts";
import type { Runtime } from "../../src/base/protocol/script.ts";
import { EXEC_LIMITS } from "../../src/broker/capabilities/exec/grants.ts";
import { FS_LIMITS } from "../../src/broker/capabilities/fs/limits.ts";
import { TURN_AT_ONCE } from "../../src/broker/capabilities/fs/local-holder.ts";
import { QUICK_BYTES } from "../../src/broker/capabilities/fs/reading.ts";
import { LIST_MAX } from "../../src/broker/capabilities/kv/namespace.ts";
import { NATIVE_LIMITS } from "../../src/broker/capabilities/native/binaries.ts";
import { BODIES_BYTES_DEFAULT } from "../../src/service/http/body-budget.ts";
import { KEPT_LIMITS } from "../../src/service/mcp/kept-streams.ts";
import { ADDRESS_MB, PROJECT_ADDRESS_MB } from "../../src/tool/build/limits.ts";
import { MAX_PROJECT_SOURCE_BYTES, MAX_SOURCE_BYTES } from "../../src/tool/bundle/source-budget.ts";
import { ENTRIES_MAX } from "../../src/tool/package/entry.ts";
import { type HostWork, SURFACES } from "./host-work-entry.ts";
import { count, limit, mib } from "./limit-texts.ts";

const MIB = 1024 * 1024;
const RUN: readonly Runtime[] = ["javascript", "python", "wasi", "remote"];
const ALL: readonly Runtime[] = [...RUN, "native"];
const THREADED = ["connector", "env", "exec", "fetch", "fs", "kv", "native", "secrets"];
const ASKED = ["connector", "env", "exec", "fetch", "fs", "kv", "native", "secrets", "tools", "custom capabilities"];

/** The table of `docs/explanation/who-pays.md`, in the order of a call. */
export const HOST_WORK: readonly HostWork[] = [
  {
    work: "Read a request: headers, body, JSON",
    causes: ["http", "mcp"],
    bound: `${limit("inputBytes")}; ${mib(BODIES_BYTES_DEFAULT)} for the bodies of all requests`,
    place: "main thread",
    payer: "the key",
    test: "service/http/http-robustness.engine.test.ts",
  },
  {
    work: "Check a token of an authorization server",
    causes: ["http", "mcp"],
    bound:
      "8,192 characters; 256 tokens at once, 16 of them from addresses with many wrong ones; valid ones are remembered for 5 min, 10,000 of them; keys are fetched once in 30 s, after a failure once in 5 s, 256 KiB in 5 s",
    place: "thread pool",
    payer: "nobody",
    test: "service/access/oauth.engine.test.ts",
  },
  {
    work: "Prove that a body above 64 KiB is JSON, and cut the arguments out of it: they are not parsed",
    causes: ["http"],
    bound: "pieces of 64 KiB, 4 ms in one turn of the event loop, clients in turn; 1 MiB besides arguments",
    place: "main thread",
    payer: "the key",
    test: "attack/texts.attack.test.ts",
  },
  {
    work: "Copy and write the arguments: some 50 ms for 1 MiB of 90,000 members",
    causes: ["library", "mcp", "command line"],
    bound: `${limit("inputBytes")}; counted from 4 KiB on`,
    place: "main thread",
    payer: "the tenant",
    test: "attack/texts.attack.test.ts",
  },
  {
    work: "Hand an ended call to the store of calls, whose thread redacts, writes and lists calls",
    causes: [...SURFACES],
    bound: "500 calls a second of a tenant; 10,000 calls and 16 MiB wait; 20,000 rows of a list",
    place: "main thread",
    payer: "nobody",
    test: "engine/call/keep-rate.test.ts",
  },
  {
    work: "Check the arguments and the output against the tool's schemas",
    causes: [...SURFACES, ...ALL],
    bound: `${limit("cpuMs")} and ${limit("memoryMb")} of the call; 20 violations, 32 Ki characters in all`,
    place: "isolate",
    payer: "the call",
    test: "attack/schemas.attack.test.ts",
  },
  {
    work: "Run the tool",
    causes: RUN,
    bound: `${limit("cpuMs")} of processor time, also after its answer; ${limit("memoryMb")} of heap`,
    place: "isolate",
    payer: "the call",
    test: "executor/processor-time.system.test.ts",
  },
  {
    work: "Hold the memory of isolates",
    causes: RUN,
    bound: "`executor.rssMb` of the process: above it, the tenant that holds most gives back its largest isolate",
    place: "isolate",
    payer: "the tenant",
    test: "executor/holdings.system.test.ts",
  },
  {
    work: "Run a binary",
    causes: ["native"],
    bound: `${NATIVE_LIMITS.atOnce} at once, ${NATIVE_LIMITS.reserved} of them for tenants without one; the call's cpuMs, memoryMb and wallMs`,
    place: "the operating system's sandbox",
    payer: "the call",
    test: "broker/capabilities/shared-slots.test.ts",
  },
  {
    work: "Receive a capability call: count it, decide the grant, write the journal",
    causes: ASKED,
    bound: `${limit("capabilityCalls")} calls; ${limit("capabilityBytes")} both ways; 4 ms in one turn of the event loop`,
    place: "broker thread",
    payer: "the tenant",
    test: "attack/host-work.attack.test.ts",
  },
  {
    work: "Parse and check its arguments, and write its answer",
    causes: ASKED.filter((name) => !THREADED.includes(name)),
    bound: "1 MiB and 100,000 values a call; 4 ms in one turn of the event loop",
    place: "main thread",
    payer: "the tenant",
    test: "attack/host-work.attack.test.ts",
  },
  {
    work: "Parse and check its arguments, and write its answer",
    causes: THREADED,
    bound:
      "1 MiB, 16 MiB for requests and for writing of files, and 100,000 values a call; 4 ms in one turn of its event loop",
    place: "broker thread",
    payer: "the tenant",
    test: "broker/thread/broker-thread.test.ts",
  },
  {
    work: "Keep the journal of a running call",
    causes: ASKED,
    bound: `texts of 256 characters, else digests; ${mib(TENANT_HELD.journalBytes)} a tenant, ${mib(ENGINE_HELD.journalBytes)} for all`,
    place: "broker thread",
    payer: "the tenant",
    test: "broker/host-work.test.ts",
  },
  {
    work: "Read an environment variable, or a secret's grant",
    causes: ["env", "secrets"],
    bound: "one name",
    place: "broker thread",
    payer: "the tenant",
    test: "attack/host-work.attack.test.ts",
  },
  {
    work: "Send a request and read its response",
    causes: ["fetch"],
    bound:
      "8 at once in a call, 512 in all, 128 of them for tenants without one; 16 KiB of headers; the grant's maxBytes; 4,096 pieces of a body below 32 bytes",
    place: "broker thread",
    payer: "the tenant",
    test: "attack/slots.attack.test.ts",
  },
  {
    work: "Hold a WebSocket, and pass on its messages",
    causes: ["fetch"],
    bound:
      "16 in a call, 256 in all, 64 of them for tenants without one; 64 KiB and a message of 1 MiB that wait for the tool; 10,000 pings; the grant's maxBytes; the call's time",
    place: "broker thread",
    payer: "the tenant",
    test: "broker/capabilities/fetch/web-sockets.test.ts",
  },
  {
    work: "Decompress a response",
    causes: ["fetch"],
    bound: "two codings; the grant's maxBytes after decompression",
    place: "thread pool",
    payer: "the tenant",
    test: "broker/capabilities/fetch/bodies.test.ts",
  },
  {
    work: "Fill in a secret, and look for it in the response",
    causes: ["fetch", "secrets"],
    bound: "one pass of two steps at most for each byte, where a secret was filled in",
    place: "broker thread",
    payer: "the tenant",
    test: "attack/secrets.attack.test.ts",
  },
  {
    work: "Read, write or list entries",
    causes: ["kv"],
    bound: `one row; of a list ${count(LIST_MAX)} rows and 100 expired ones`,
    place: "broker thread",
    payer: "the tenant",
    test: "broker/capabilities/kv/sqlite-entries.test.ts",
  },
  {
    work: "Read, write or list files",
    causes: ["fs"],
    bound: `${mib(FS_LIMITS.operationBytes)} an operation; ${FS_LIMITS.atOnceInAll} at once, a quarter of them for tenants without one`,
    place: "thread pool",
    payer: "the tenant",
    test: "broker/capabilities/shared-slots.test.ts",
  },
  {
    work: "Open a path, and read a small file, on a local disk",
    causes: ["fs"],
    bound: `${TURN_AT_ONCE} descriptors in one turn of the event loop; ${count(QUICK_BYTES / 1_024)} KiB each`,
    place: "broker thread",
    payer: "the tenant",
    test: "broker/capabilities/fs/local-holder.test.ts",
  },
  {
    work: "Run a command",
    causes: ["exec"],
    bound: `${EXEC_LIMITS.atOnceInAll} at once, one of them for tenants without one; the grant's wallMs and outputBytes`,
    place: "the operating system's sandbox",
    payer: "the tenant",
    test: "attack/slots.attack.test.ts",
  },
  {
    work: "Check the types of a program",
    causes: [...SURFACES],
    bound:
      "one compiler at a time with 2 s of processor time and 5 s, 16 programs that wait, 8 of them of one tenant; the rest run unchecked",
    place: "the operating system's sandbox",
    payer: "the tenant",
    test: "code-mode/type-check.system.test.ts",
  },
  {
    work: "Call another tool",
    causes: ["tools"],
    bound: "a call of its own, within the limits of its parent; 8 at once in a call, and 56 more that need only a turn",
    place: "isolate",
    payer: "the call",
    test: "engine/call/child-budget.test.ts",
  },
  {
    work: "Run the handler of a capability of your own",
    causes: ["custom capabilities"],
    bound: "256 KiB of arguments; the handler and its schemas are the embedder's, and nothing stops them",
    place: "main thread",
    payer: "the tenant",
    test: "broker/host-work.test.ts",
  },
  {
    work: "Write console output, progress and error texts, and take a tool's config out of them",
    causes: ALL,
    bound: limit("logBytes"),
    place: "worker thread",
    payer: "the call",
    test: "attack/floods.attack.test.ts",
  },
  {
    work: "Map a stack to the tool's own source",
    causes: ["javascript"],
    bound: "64 KiB of stack; a source map of 4 MiB, parsed once, of which 4 KiB are read for each frame",
    place: "main thread",
    payer: "nobody",
    test: "attack/builds.attack.test.ts",
  },
  {
    work: "Read lines from a worker: what its calls ask",
    causes: ASKED,
    bound:
      "64 KiB in one turn of the event loop; a line of 32 MiB, or what the call's limits allow; 500,000 lines without a message to the worker; 10,000 lines and 32 MiB of calls that are not known yet",
    place: "broker thread",
    payer: "nobody",
    test: "broker/thread/worker-pipe.test.ts",
  },
  {
    work: "Tell the engine of a call that has asked: its sum, and each capability call for metrics and the audit",
    causes: ASKED,
    bound: `one message for the calls that ended in one turn of the event loop; ${limit("capabilityCalls")} capability calls`,
    place: "main thread",
    payer: "nobody",
    test: "broker/thread/broker-thread.test.ts",
  },
  {
    work: "Read lines from a worker",
    causes: ALL,
    bound:
      "64 KiB in one turn of the event loop; a line of 32 MiB, or what the call's limits allow; 500,000 lines without a message of the host",
    place: "main thread",
    payer: "nobody",
    test: "attack/worker-lines.attack.test.ts",
  },
  {
    work: "Parse an output of at most 256 KiB, and those that a contract or `outputChars` has to read",
    causes: ["library", ...ALL],
    bound: limit("outputBytes"),
    place: "main thread",
    payer: "nobody",
    test: "engine/long-output.engine.test.ts",
  },
  {
    work: "Prove that a longer output is JSON",
    causes: ["library", "http", "mcp", "command line"],
    bound: `${limit("outputBytes")}; pieces of 64 KiB, 4 ms in one turn of the event loop`,
    place: "main thread",
    payer: "the tenant",
    test: "attack/texts.attack.test.ts",
  },
  {
    work: "Parse a longer output: when it is read, or its result copied",
    causes: ["library", "mcp"],
    bound: `${limit("outputBytes")}; answers over HTTP, the command line and the ledger of calls pass it on as text, MCP passes on texts, and objects without content blocks`,
    place: "main thread",
    payer: "nobody",
    test: "engine/long-output.engine.test.ts",
  },
  {
    work: "Cut a long output for a model, find its shape, and read its pages",
    causes: ["library", "mcp"],
    bound: `${limit("outputBytes")}; pieces of 32 KiB, 4 ms in one turn of the event loop; 4 pages at once of a tenant, 16 in all`,
    place: "main thread",
    payer: "the tenant",
    test: "engine/model/read-output.engine.test.ts",
  },
  {
    work: "Keep long outputs for models",
    causes: ["library", "mcp"],
    bound: "64 MiB, a quarter of it of one tenant; 15 minutes",
    place: "main thread",
    payer: "the tenant",
    test: "engine/model/kept-outputs.test.ts",
  },
  {
    work: "Write an answer",
    causes: ["http"],
    bound: "above 1 Mi characters, 256 Ki in one turn of the event loop",
    place: "main thread",
    payer: "nobody",
    test: "attack/texts.attack.test.ts",
  },
  {
    work: "Keep answers for a client that does not read",
    causes: ["http", "mcp"],
    bound: "512 Mi characters for all: beyond that, the tenant that holds most loses its heaviest connection",
    place: "main thread",
    payer: "the tenant",
    test: "attack/readers.attack.test.ts",
  },
  {
    work: "Keep the streams of calls for clients that lost their connection",
    causes: ["mcp"],
    bound: `${KEPT_LIMITS.perKey.streams} calls and ${KEPT_LIMITS.perKey.characters / MIB} Mi characters of a key, ${KEPT_LIMITS.total.streams.toLocaleString("en-US")} and ${KEPT_LIMITS.total.characters / MIB} Mi of all; ${KEPT_LIMITS.events} events a call; ${KEPT_LIMITS.awayMs / 1_000} s without a client`,
    place: "main thread",
    payer: "the key",
    test: "service/mcp/kept-streams.test.ts",
  },
  {
    work: "Remember calls with an idempotency key",
    causes: ["library", "http"],
    bound: "1,000 callers that wait for one running call; a result has a sixteenth of the store at most",
    place: "main thread",
    payer: "nobody",
    test: "engine/idempotency.engine.test.ts",
  },
  {
    work: "Generate the code that checks a tool's arguments and output",
    causes: [...ALL],
    bound:
      "5,000 objects, 50,000 values and 1 MiB of schema, 256 Ki characters of code, 5 s; the operator's up to 4 KiB in place",
    place: "child process",
    payer: "the registrant",
    test: "attack/builds.attack.test.ts",
  },
  {
    work: "Send a request of a connector and read its response",
    causes: ["connector"],
    bound:
      "8 MiB and `timeoutMs` 30,000 ms a request; `concurrency` 16 at once of a connector, a quarter of them for tenants without one",
    place: "broker thread",
    payer: "the tenant",
    test: "engine/connectors/connector-limits.engine.test.ts",
  },
  {
    work: "Read a connector's document or its server's list",
    causes: ["remote"],
    bound: "8 MiB, 20 s, 2,500 tools; 256 Ki characters of a tool are parsed in one turn of the event loop",
    place: "child process",
    payer: "the operator",
    test: "engine/connectors/hostile-connectors.engine.test.ts",
  },
  {
    work: "Bundle a tool",
    causes: ["javascript"],
    bound: `${mib(MAX_SOURCE_BYTES)} of source, ${count(ADDRESS_MB)} MB of addresses, 30 s; for the operator's files ${mib(MAX_PROJECT_SOURCE_BYTES)} and, where that is too little, ${count(PROJECT_ADDRESS_MB)} MB`,
    place: "child process",
    payer: "the registrant",
    test: "attack/bundler.attack.test.ts",
  },
  {
    work: "Open an archive or a wheel",
    causes: ["http", "python", "command line"],
    bound: `${count(ENTRIES_MAX)} entries, a hundredfold of its size, 30 s`,
    place: "child process",
    payer: "the registrant",
    test: "attack/builds.attack.test.ts",
  },
  {
    work: "Load a tool once to read its description",
    causes: RUN,
    bound: "the tool's limits",
    place: "isolate",
    payer: "the registrant",
    test: "attack/loading.attack.test.ts",
  },
  {
    work: "Count metrics, send events, write logs",
    causes: [...SURFACES],
    bound: "500 tools as labels, 10,000 waiting records of the audit",
    place: "main thread",
    payer: "the operator",
    test: "engine/telemetry/audit.test.ts",
  },
];
