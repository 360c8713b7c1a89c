import { createHash, createHmac } from "node:crypto";
import { builtinModules } from "node:module";
import { describe, expect, test } from "vitest";
import { openRealm } from "./in-realm.ts";

const NAMES = builtinModules.map((name) => name.replace("node:", "")).filter((name) => !name.startsWith("_"));

/** Everything that a tool reaches of Node's names: modules, globals, and objects of their classes. */
const ROOTS = `() => {
  const roots = ${JSON.stringify(NAMES)}.map((name) => [name, __node.require(name)]);
  const make = (name, create) => { roots.push([name, create()]); };
  const { Readable, Writable, Duplex, Transform, PassThrough } = __node.require("stream");
  const c = __node.require("crypto"), zlib = __node.require("zlib"), timers = __node.require("timers");
  const events = __node.require("events"), hooks = __node.require("async_hooks"), url = __node.require("url");
  const { privateKey, publicKey } = c.generateKeyPairSync("ed25519");
  make("buffer", () => __node.Buffer.from("a"));
  make("emitter", () => new events().on("a", () => {}));
  make("events.on", () => events.on(new events(), "a"));
  for (const Class of [Readable, Writable, Duplex, Transform, PassThrough]) make(Class.name, () => new Class({ read() {}, write() {} }));
  make("from", () => Readable.from(["a"]));
  make("iterator", () => Readable.from(["a"])[Symbol.asyncIterator]());
  make("hash", () => c.createHash("sha256"));
  make("hmac", () => c.createHmac("sha256", "a"));
  make("key", () => privateKey);
  make("sign", () => c.createSign("sha256"));
  make("verify", () => c.createVerify("sha256"));
  make("cipher", () => c.createCipheriv("aes-128-gcm", new Uint8Array(16), new Uint8Array(12)));
  make("ecdh", () => c.createECDH("secp256k1"));
  make("gzip", () => zlib.createGzip());
  make("lines", () => __node.require("readline").createInterface(Readable.from(["a"])));
  make("agent", () => new (__node.require("http").Agent)());
  make("message", () => new (__node.require("http").IncomingMessage)());
  make("server", () => new (__node.require("http").Server)());
  make("binding", () => zlib.createInflate()._handle);
  make("gzip in use", () => { const gzip = zlib.createGzip(); gzip.write("a"); return gzip; });
  make("source", () => {
    let source;
    __node.require("stream").pipeline(new (__node.require("stream"))(), (given) => (source = given), () => {});
    return source;
  });
  make("malformed key", () => { try { c.createPrivateKey({ key: new Uint8Array(1), format: "der", type: "pkcs8" }); } catch (error) { return error; } });
  make("timeout", () => timers.setTimeout(() => {}, 1));
  make("immediate", () => __node.setImmediate(() => {}));
  make("store", () => new hooks.AsyncLocalStorage());
  make("resource", () => new hooks.AsyncResource("a"));
  make("BoundPromise", () => __node.BoundPromise.resolve(1));
  make("boundGlobals", () => __node.boundGlobals);
  make("channel", () => __node.require("diagnostics_channel").channel("a"));
  make("legacy url", () => url.parse("http://a.b/c"));
  make("decoder", () => new (__node.require("string_decoder").StringDecoder)());
  make("request", () => __node.require("http").request("http://a.b/"));
  make("CryptoKey", () => __node.CryptoKey.prototype);
  make("WebSocket", () => new __node.WebSocket("ws://a.b"));
  make("EventSource", () => new __node.EventSource("http://a.b"));
  make("compression", () => new __node.CompressionStream("gzip"));
  make("decompression", () => new __node.DecompressionStream("gzip"));
  make("navigator", () => __node.navigator);
  make("WeakRef", () => new (__node.absent("WeakRef"))({}));
  make("refusal", () => { try { __node.require("child_process").exec(); } catch (error) { return error; } });
  make("assertion", () => { try { __node.require("assert")(false); } catch (error) { return error; } });
  make("node", () => __node);
  return roots;
}`;

const WALK = `(roots, visit) => {
  const todo = [...roots];
  const seen = new Set([globalThis]);
  while (todo.length > 0) {
    const [path, value] = todo.pop();
    if (value === null || (typeof value !== "object" && typeof value !== "function") || seen.has(value)) continue;
    seen.add(value);
    visit(path, value);
    todo.push([path + "^", Object.getPrototypeOf(value)]);
    if (ArrayBuffer.isView(value)) continue;
    for (const key of Reflect.ownKeys(value)) {
      const { value: inner, get, set } = Object.getOwnPropertyDescriptor(value, key);
      const name = path + "." + String(key);
      todo.push([name, inner], [name + ":get", get], [name + ":set", set]);
      if (get !== undefined && path.length < 60) try { const got = value[key]; if (got instanceof Promise) got.catch(() => {}); else todo.push([name + "!", got]); } catch {}
    }
  }
  return seen.size;
}`;

/** The first call changes what it can; each later one tells what it sees of that. */
const POLLUTED = `(input) => {
  const found = [];
  const roots = (${ROOTS})();
  const size = (${WALK})(roots, (path, value) => {
    if (Object.hasOwn(value, "polluted")) found.push(path);
  });
  if (input) (${WALK})(roots, (path, value) => {
    try { Reflect.defineProperty(value, "polluted", { value: 1 }); } catch {}
    try { Reflect.set(value, "toString", "polluted"); } catch {}
    try { Reflect.set(value, "emit", "polluted"); } catch {}
    if (ArrayBuffer.isView(value)) try { value[0] = 99; } catch {}
  });
  return { found, size };
}`;

describe("Node's names in a hardened realm", () => {
  test("show nothing of what an earlier call did to everything that it reached", async () => {
    using realm = await openRealm(POLLUTED);
    const first = realm.call(true) as { found: string[]; size: number };
    expect(first.found).toEqual([]);
    expect(first.size).toBeGreaterThan(2_000);
    expect(realm.call(false)).toMatchObject({ found: [] });
  });

  test("are frozen also where they are made on a full stack", async () => {
    const modules = ["stream", "zlib", "crypto", "util", "url", "querystring", "process"];
    using realm = await openRealm(`(input) => {
      if (input === "first") {
        const dig = (act) => { try { return dig(act); } catch { return act(); } };
        for (const name of ${JSON.stringify(modules)}) dig(() => Object.keys(__node.require(name)));
        dig(() => __node.absent("WeakRef"));
        dig(() => __node.require("util").inspect({}));
        return null;
      }
      return (${POLLUTED})(input);
    }`);
    realm.call("first");
    expect(realm.call(true)).toMatchObject({ found: [] });
    expect(realm.call(false)).toMatchObject({ found: [] });
  });

  test("reject with errors whose classes are frozen", async () => {
    using realm = await openRealm(`async () => {
      const { Readable } = __node.require("stream");
      const empty = new Readable({ read() { this.push(null); } });
      const error = await empty.reduce((sum) => sum).catch((reason) => reason);
      const [prototype] = [Object.getPrototypeOf(error)];
      return [error.code, error.message, Object.isFrozen(prototype), Object.isFrozen(error.constructor)];
    }`);
    const message = "Reduce of an empty stream requires an initial value";
    expect(realm.call()).toEqual(["ERR_MISSING_ARGS", message, true, true]);
  });

  test("keep their state for one call", async () => {
    using realm = await openRealm(`(input) => {
      const events = __node.require("events"), util = __node.require("util"), buffer = __node.require("buffer");
      const fs = __node.require("fs"), channels = __node.require("diagnostics_channel");
      const { process, Buffer } = __node;
      const emitter = new events();
      const seen = [events.defaultMaxListeners, util.inspect.defaultOptions.depth, buffer.INSPECT_MAX_BYTES, Buffer.poolSize,
        process.env.MINE, process.title, process.listenerCount("exit"), process.exitCode, typeof fs.readFileSync, channels.hasSubscribers("a"),
        typeof globalThis.mine, globalThis.Buffer === Buffer, process.argv.length, emitter.getMaxListeners()];
      events.defaultMaxListeners = 99; util.inspect.defaultOptions.depth = 9; buffer.INSPECT_MAX_BYTES = 3; Buffer.poolSize = 4;
      process.env.MINE = "mine"; process.title = "mine"; process.on("exit", () => {}); process.exitCode = 7; fs.readFileSync = "mine";
      channels.subscribe("a", () => {}); globalThis.mine = 1; globalThis.Buffer = "mine"; process.argv.push("mine");
      return seen;
    }`);
    const fresh = [10, 2, 50, 8192, null, "node", 0, null, "function", false, "undefined", true, 2, 10];
    for (let call = 0; call < 3; call++) expect(realm.call()).toEqual(fresh);
  });

  test("show no state of an earlier call in members that a module inherits or makes when they are read", async () => {
    using realm = await openRealm(`() => {
      const read = () => ["events", "stream", "buffer", "http"].flatMap((name) =>
        ["defaultMaxListeners", "INSPECT_MAX_BYTES", "globalAgent"].map((member) => {
          const value = __node.member(name, member);
          return typeof value === "object" ? (value.mine ?? "an object") : value;
        }));
      const before = read();
      __node.member("events", "EventEmitter").defaultMaxListeners = 99;
      __node.require("buffer").INSPECT_MAX_BYTES = 3;
      __node.member("http", "globalAgent").mine = "mine";
      return { before, isChanged: before.join() !== read().join() };
    }`);
    const first = realm.call();
    expect(first).toMatchObject({ isChanged: true });
    expect(realm.call()).toEqual(first);
  });

  test("keep nothing of names that code makes up", async () => {
    using realm = await openRealm(`() => {
      const isKept = (name) => __node.absent(name) === __node.absent(name);
      for (let at = 0; at < 2_000; at++) { __node.absent("Name" + at); __node.require("name" + at).member; Object.keys(__node.require("name" + at)); }
      return [isKept("Missing"), isKept("WebAssembly"), typeof __node.require("zlib").gzipSync, __node.require("child_process") === __node.require("child_process")];
    }`);
    for (let call = 0; call < 2; call++) expect(realm.call()).toEqual([false, true, "function", true]);
  });

  test("promise what Node promises of functions whose callbacks are not Node's", async () => {
    using realm = await openRealm(
      `async () => {
      const { promisify } = __node.require("util"), { pipeline, Readable, Writable } = __node.require("stream");
      const parts = [];
      const write = new Writable({ write(chunk, _encoding, done) { parts.push(String(chunk)); done(); } });
      await promisify(pipeline)(Readable.from(["a", "b"]), write);
      const timers = __node.require("timers"), fs = __node.require("fs");
      return [parts, await promisify(timers.setTimeout)(1, "later"), await promisify(timers.setImmediate)("soon"), await promisify(fs.exists)("/none")];
    }`,
      { host: () => ({ code: "fs_failed", message: "there is no such file" }) },
    );
    expect(realm.call()).toEqual([["a", "b"], "later", "soon", false]);
  });

  test("are streams where code uses hashes and ciphers as such", async () => {
    using realm = await openRealm(`async () => {
      const c = __node.require("crypto"), { Readable } = __node.require("stream"), { pipeline } = __node.require("stream/promises");
      const { text, buffer } = __node.require("stream/consumers");
      const [key, iv] = [new Uint8Array(32), new Uint8Array(16)];
      const hash = Readable.from(["a", "bc"]).pipe(c.createHash("sha1")).setEncoding("hex");
      const hmac = c.createHmac("sha1", "k");
      await pipeline(Readable.from(["abc"]), hmac);
      const sealed = await buffer(Readable.from(["hello"]).pipe(c.createCipheriv("aes-256-cbc", key, iv)));
      const opened = await text(Readable.from([sealed]).pipe(c.createDecipheriv("aes-256-cbc", key, iv)));
      const broken = await text(Readable.from([sealed.subarray(1)]).pipe(c.createDecipheriv("aes-256-cbc", key, iv))).catch(({ code }) => code);
      const digested = c.createHash("sha1");
      await pipeline(Readable.from(["abc"]), digested);
      const plain = c.createHash("sha1");
      plain.write("abc");
      return [await text(hash), digested.digest("hex"), hmac.read().toString("hex"), sealed.length, opened, broken, plain.end().read().toString("hex"), plain instanceof c.Hash];
    }`);
    const abc = createHash("sha1").update("abc").digest("hex");
    const keyed = createHmac("sha1", "k").update("abc").digest("hex");
    const broken = "ERR_OSSL_WRONG_FINAL_BLOCK_LENGTH";
    for (let call = 0; call < 2; call++)
      expect(realm.call()).toEqual([abc, abc, keyed, 16, "hello", broken, abc, true]);
  });

  test("are streams of the web, and the other way round", async () => {
    using realm = await openRealm(`async () => {
      const { Readable, Writable, Duplex, PassThrough } = __node.require("stream");
      const { text } = __node.require("stream/consumers");
      const parts = [];
      const sink = () => new Writable({ write(chunk, _encoding, done) { parts.push(String(chunk)); done(chunk.length > 2 ? new Error("long") : null); } });
      const response = await new Response(Readable.toWeb(Readable.from([new Uint8Array([97]), new Uint8Array([98])]))).text();
      const writer = Writable.toWeb(sink()).getWriter();
      await writer.write(new Uint8Array([99]));
      const failed = await writer.write(new Uint8Array([100, 100, 100])).catch(({ message }) => message);
      const into = Writable.fromWeb(new WritableStream({ write: (chunk) => { parts.push("web " + chunk); } }), { objectMode: true });
      await new Promise((resolve) => into.end("e", resolve));
      const broken = await Array.fromAsync(Readable.toWeb(Readable.from((async function* () { throw new Error("no luck"); })()))).catch(({ message }) => message);
      const pair = Duplex.toWeb(new PassThrough());
      const pairs = pair.writable.getWriter();
      await pairs.write(new Uint8Array([102]));
      await pairs.close();
      return [response, failed, broken, parts, await new Response(pair.readable).text()];
    }`);
    expect(realm.call()).toEqual(["ab", "long", "no luck", ["c", "ddd", "web e"], "f"]);
  });

  test("compress and decompress in streams of the web, as globals and of node:stream/web", async () => {
    using realm = await openRealm(`async () => {
      const { CompressionStream, DecompressionStream } = __node;
      const same = __node.require("stream/web").CompressionStream === CompressionStream;
      const back = [];
      for (const format of ["gzip", "deflate", "deflate-raw"]) {
        const packed = new Response("a".repeat(1_000)).body.pipeThrough(new CompressionStream(format));
        const bytes = new Uint8Array(await new Response(packed).arrayBuffer());
        const text = await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream(format))).text();
        back.push([bytes.length < 50, text.length]);
      }
      const broken = await new Response(new Blob(["no gzip"]).stream().pipeThrough(new DecompressionStream("gzip"))).text().catch(({ code }) => code);
      let wrong; try { new CompressionStream("br"); } catch (error) { wrong = error.code; }
      return [same, back, broken, wrong, __node.navigator.userAgent.startsWith("Node.js/")];
    }`);
    const back = [1, 2, 3].map(() => [true, 1_000]);
    for (let call = 0; call < 2; call++)
      expect(realm.call()).toEqual([true, back, "Z_DATA_ERROR", "ERR_INVALID_ARG_VALUE", true]);
  });

  test("answer what code asks of processes, and have classes that Node makes when they are read", async () => {
    using realm = await openRealm(`() => {
      const cluster = __node.require("cluster"), fs = __node.require("fs"), net = __node.require("net");
      const told = (act) => { try { return act(); } catch ({ message }) { return message; } };
      return [cluster.isPrimary, cluster.isWorker, told(() => cluster.fork()), {} instanceof fs.ReadStream, told(() => new net.BlockList())];
    }`);
    const refused = (name: string) => expect.stringContaining(`${name} does not exist inside an isolate: `) as unknown;
    expect(realm.call()).toEqual([true, false, refused("cluster.fork"), false, refused("net.BlockList")]);
  });

  test("name errors of the system and domains as Node does", async () => {
    using realm = await openRealm(
      `() => [__node.require("util").getSystemErrorName(-2), __node.require("url").domainToUnicode("xn--espaol-zwa.com")]`,
    );
    expect(realm.call()).toEqual(["ENOENT", "español.com"]);
  });

  test("have state of a shared module that lives on", async () => {
    using realm = await openRealm(
      `() => { const { process } = __node; return __node.process && (process.env.COUNT = Number(process.env.COUNT ?? 0) + 1); }`,
      {
        shared: true,
      },
    );
    expect([realm.call(), realm.call(), realm.call()]).toEqual([1, 2, 3]);
  });

  test("let classes and their objects override what they inherit", async () => {
    using realm = await openRealm(`() => {
      const events = __node.require("events"), { Readable } = __node.require("stream"), { inherits } = __node.require("util");
      function Old() { events.call(this); }
      inherits(Old, events);
      Old.prototype.on = () => "old"; Old.once = () => "once";
      const stream = new Readable(); stream.read = () => "read"; stream.destroy = () => "destroyed";
      return [new Old().on(), Old.once(), stream.read(), stream.destroy()];
    }`);
    expect(realm.call()).toEqual(["old", "once", "read", "destroyed"]);
  });

  test("refuse when they are used, not when they are imported or extended", async () => {
    using realm = await openRealm(`() => {
      const net = __node.require("net"), http = __node.require("http"), fs = __node.require("fs");
      class Mine extends net.Socket {}
      class Server extends http.Server {}
      const told = (act) => { try { act(); return "nothing"; } catch (error) { return [error.code, error.message]; } };
      return [told(() => new Mine()), told(() => new Server().listen(80)), told(() => fs.readFileSync("/a")), told(() => __node.process.exit()), told(() => __node.member("child_process", "spawn")("ls"))];
    }`);
    const [socket, server, file, exit, spawn] = realm.call() as [string, string][];
    expect(socket).toEqual([
      "ERR_FEATURE_UNAVAILABLE_ON_PLATFORM",
      expect.stringContaining("net.Socket does not exist inside an isolate: use fetch"),
    ]);
    expect(server?.[1]).toContain("a tool has no server");
    expect(file).toEqual(["ENOENT", expect.stringContaining('grant of the capability "fs"')]);
    expect(exit?.[1]).toContain("throw an error to end the call");
    expect(spawn?.[1]).toContain("context.host.exec");
  });

  test("are modules whose members code may list, replace, delete and freeze, for itself", async () => {
    using realm = await openRealm(`() => {
      const fs = __node.require("fs"), util = __node.require("util"), path = __node.require("path"), zlib = __node.require("zlib");
      const before = [fs.mine, fs.__esModule, typeof fs.readFile, typeof fs.hasOwnProperty, typeof util.TextDecoder, fs.promises === __node.require("fs/promises")];
      const listed = [Object.keys(path).includes("join"), "join" in path, Object.keys({ ...util }).includes("inspect"), typeof { ...util }.TextEncoder];
      fs.readFile = "mine"; fs.mine = 1; delete path.join; util.TextDecoder = "mine"; Object.freeze(zlib);
      const after = [fs.readFile, fs.mine, path.join ?? "gone", typeof path.dirname, util.TextDecoder, Object.isFrozen(zlib), typeof zlib.gzipSync, fs.promises === __node.require("fs/promises")];
      return [before, listed, after, __node.member("fs", "readFile"), Object.prototype.toString.call(fs)];
    }`);
    const before = [null, null, "function", "function", "function", true];
    const listed = [true, true, true, "function"];
    const after = ["mine", 1, "gone", "function", "mine", true, "function", true];
    for (let call = 0; call < 2; call++)
      expect(realm.call()).toEqual([before, listed, after, "mine", "[object Object]"]);
  });

  test("take no time of a realm that names none of them", async () => {
    using realm = await openRealm("() => [typeof globalThis.Buffer, typeof globalThis.process]");
    expect(realm.call()).toEqual(["undefined", "undefined"]);
  });

  test("mark and measure by the clock of the call, whose marks are gone with it", async () => {
    using realm = await openRealm(`async () => {
      const { PerformanceObserver } = __node.require("perf_hooks");
      const { performance } = __node;
      const seen = [];
      new PerformanceObserver((list) => seen.push(...list.getEntries().map(({ name }) => name))).observe({ entryTypes: ["measure"] });
      performance.mark("late", { startTime: 12, detail: { a: 1 } });
      performance.mark("early", { startTime: 5 });
      const { name, entryType, startTime, duration } = performance.measure("both", "early", "late");
      const other = performance.measure("back", { end: "late", duration: 4, detail: "d" });
      const missing = (() => { try { performance.measure("x", "none"); } catch ({ name, message }) { return [name, message]; } })();
      await null;
      const listed = performance.getEntries().map((entry) => entry.name);
      performance.clearMarks("early");
      return [name, entryType, startTime, duration, other.toJSON(), missing, seen, listed, performance.getEntriesByType("mark").map(({ detail }) => detail)];
    }`);
    const back = { name: "back", entryType: "measure", startTime: 8, duration: 4, detail: "d" };
    const missing = ["SyntaxError", 'The "none" performance mark has not been set'];
    const listed = ["early", "both", "back", "late"];
    for (let call = 0; call < 2; call++)
      expect(realm.call()).toEqual(["both", "measure", 5, 7, back, missing, ["both", "back"], listed, [{ a: 1 }]]);
  });

  test("say which functions led to a call of util.getCallSites, nearest first", async () => {
    using realm = await openRealm(`() => {
      const inner = () => __node.require("util").getCallSites().map(({ functionName }) => functionName);
      const outer = () => inner();
      return outer().slice(0, 2);
    }`);
    expect(realm.call()).toEqual(["inner", "outer"]);
  });
});
