import { createHash } from "node:crypto";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import ivm from "isolated-vm";

/** How the isolate is set up before the code runs. */
export interface Setup {
  /** Freezes every intrinsic and global, as a realm that many calls share is frozen. */
  readonly frozen?: boolean;
}

const SOURCES = fileURLToPath(new URL("../../../../src/kernel/guest/web/", import.meta.url));

/** Installs the globals as a prelude would, over the host's functions that the harness put into `host`. */
const PRELUDE = `
  import { createConsole } from "./console.ts";
  import { createWebPart } from "./index.ts";
  const host = globalThis.host;
  delete globalThis.host;
  const timers = [];
  const errors = [];
  const messages = [];
  const { globals: web } = createWebPart({
    parseUrl: host.parseUrl,
    updateUrl: host.updateUrl,
    digest: host.digest,
    findSingleByte: () => "",
    fillRandom: (bytes) => bytes.set(host.random(bytes.length)),
    detach: (buffer) => void buffer.transfer(0),
    setTimeout: (callback, ms) => timers.push({ callback, ms }),
    reportError: (error) => errors.push(String(error)),
  });
  const console = createConsole((level, message) => messages.push([level, message]), () => 0);
  const globals = { ...web, console, timers, errors, messages };
  for (const [name, value] of Object.entries(globals)) {
    Object.defineProperty(globalThis, name, { value, writable: true, configurable: true });
  }
`;

const FREEZE = `{
  const open = new Set([timers, errors, messages]);
  const seen = new Set(open);
  const waiting = [globalThis, (function* () {})(), [].values(), new Map().keys(), async function () {}];
  while (waiting.length > 0) {
    const value = waiting.pop();
    if (value === null || (typeof value !== "object" && typeof value !== "function") || seen.has(value)) continue;
    seen.add(value);
    waiting.push(Object.getPrototypeOf(value));
    for (const property of Object.values(Object.getOwnPropertyDescriptors(value))) {
      waiting.push(property.value, property.get, property.set);
    }
  }
  for (const value of seen) if (!open.has(value) && value !== globalThis) Object.freeze(value);
  for (const name of Object.getOwnPropertyNames(globalThis)) {
    const { configurable } = Object.getOwnPropertyDescriptor(globalThis, name);
    if (configurable) Object.defineProperty(globalThis, name, { writable: false, configurable: false });
  }
}`;

let bundled: Promise<string> | undefined;

async function bundle(): Promise<string> {
  const result = await build({
    stdin: { contents: PRELUDE, resolveDir: SOURCES, loader: "ts" },
    bundle: true,
    write: false,
    format: "iife",
    target: "esnext",
  });
  return result.outputFiles[0]?.text ?? "";
}

/**
 * Runs the body of an async function in a fresh isolate that has the web's globals, and gives what it returns as
 * JSON would carry it. Timers that the globals set stand in `timers`, what they report in `errors`, and what is
 * written to the console in `messages`.
 */
export async function inIsolate(body: string, { frozen = false }: Setup = {}): Promise<unknown> {
  const isolate = new ivm.Isolate({ memoryLimit: 64 });
  try {
    const context = await isolate.createContext();
    await context.global.set("host", hostFunctions(), { copy: true });
    await context.eval(await (bundled ??= bundle()));
    if (frozen) await context.eval(FREEZE);
    const code = `(async () => { "use strict"; ${body} })().then((result) => JSON.stringify(result))`;
    const json: unknown = await context.eval(code, { timeout: 5_000, promise: true });
    return typeof json === "string" ? JSON.parse(json) : undefined;
  } finally {
    isolate.dispose();
  }
}

function hostFunctions() {
  return {
    parseUrl: new ivm.Callback(parseUrl),
    updateUrl: new ivm.Callback(updateUrl),
    digest: new ivm.Callback(digest),
    random: new ivm.Callback((length: number) => new ivm.ExternalCopy(randomBytes(length)).copyInto()),
  };
}

/** The host's part of `URL`, over Node's. */
export function parseUrl(href: string, base: string): string {
  const url = base === "\0" ? URL.parse(href) : URL.parse(href, base);
  return url === null ? "" : partsOf(url);
}

/** The host's part of the setters of `URL`, over Node's. */
export function updateUrl(href: string, part: string, value: string): string {
  const url = new URL(href);
  Reflect.set(url, part, value);
  return partsOf(url);
}

/** The host's part of `crypto.subtle.digest`. */
export function digest(algorithm: string, latin1: string): string {
  return createHash(algorithm.replace("-", "").toLowerCase()).update(latin1, "latin1").digest("latin1");
}

/** Bytes that tests can foresee. */
export function randomBytes(length: number): Uint8Array<ArrayBuffer> {
  return Uint8Array.from({ length }, (_, index) => (index * 37 + 255) & 0xff);
}

function partsOf(url: URL): string {
  const { href, protocol, username, password, host, hostname, port, pathname, search, hash, origin } = url;
  return JSON.stringify([href, protocol, username, password, host, hostname, port, pathname, search, hash, origin]);
}
