/** What an isolate adds to files of single packages. */

interface Addition {
  /** The path of the file inside its package. */
  readonly file: RegExp;
  /** The text before the file's own; in its first line, so that those of the file keep their numbers. */
  readonly before?: string;
  readonly after: string;
}

/** A module of a package with what is added to it. `file`: its path. */
export function withAddition(contents: string, file: string): string {
  const [, inside] = /[\\/]node_modules[\\/]((?:[^\\/]+[\\/])+[^\\/]+)$/.exec(file) ?? [];
  if (inside === undefined) return contents;
  const place = inside.replaceAll("\\", "/");
  const found = ADDITIONS.find((one) => one.file.test(place));
  return found === undefined ? contents : `${found.before ?? ""}${contents}${found.after}`;
}

/**
 * Whoever calls axios in Node gets a `Buffer` or a stream of Node's, and may see redirects: its adapter for Node is that
 * for `fetch` with such answers.
 */
const AXIOS = `
{
  const fetchFor = knownAdapters.fetch.get ?? (() => knownAdapters.fetch);
  const inNode = (response, type) => {
    const { data } = response ?? {};
    if (data instanceof ArrayBuffer) response.data = Buffer.from(data);
    else if (type === "stream" && data instanceof ReadableStream) response.data = require("node:stream").Readable.fromWeb(data);
    return response;
  };
  knownAdapters.http ??= async (config) => {
    const { responseType, maxRedirects, fetchOptions } = config;
    if (maxRedirects === 0) config.fetchOptions = { redirect: "manual", ...fetchOptions };
    try {
      return inNode(await fetchFor(config)(config), responseType);
    } catch (error) {
      inNode(error?.response, responseType);
      throw error;
    }
  };
}
`;

/**
 * The web's classes in undici are replaced by the isolate's own: undici's would need sockets. Those of Node are made on
 * use. A client dispatches its requests over `node:http`, to a handler of any of undici's versions.
 */
const UNDICI = `
{
  const { fetch, Headers, Request, Response, FormData } = globalThis;
  Object.assign(module.exports, { fetch, Headers, Request, Response, FormData });
  Object.defineProperties(module.exports, {
    WebSocket: { get: () => globalThis.WebSocket },
    EventSource: { get: () => globalThis.EventSource },
    MessageEvent: { get: () => globalThis.MessageEvent },
    CloseEvent: { get: () => globalThis.CloseEvent },
  });
  let kUrl;
  try {
    ({ kUrl } = require("./lib/core/symbols"));
  } catch {}
  const send = async (request, body) => {
    if (body instanceof FormData) {
      const form = new Response(body);
      request.setHeader("content-type", form.headers.get("content-type"));
      request.end(new Uint8Array(await form.arrayBuffer()));
    } else if (body == null || typeof body === "string" || ArrayBuffer.isView(body)) request.end(body ?? undefined);
    else if (body instanceof ArrayBuffer) request.end(new Uint8Array(body));
    else {
      for await (const chunk of body instanceof Blob ? body.stream() : body) request.write(chunk);
      request.end();
    }
  };
  const { Client } = module.exports;
  if (kUrl !== undefined && Client !== undefined) Client.prototype.dispatch = function ({ path, query, method, headers, body }, handler) {
    const isOld = handler.onRequestStart === undefined;
    const url = new URL(path, this[kUrl]);
    for (const [name, value] of Object.entries(query ?? {}))
      for (const one of [value].flat()) url.searchParams.append(name, one);
    const pairs = Array.isArray(headers) ? headers : [...(headers?.[Symbol.iterator] ? headers : Object.entries(headers ?? {}))].flat();
    let request;
    let answer;
    const controller = {
      aborted: false,
      paused: false,
      reason: null,
      rawHeaders: [],
      pause: () => answer?.pause(),
      resume: () => answer?.resume(),
      abort: (reason) => {
        controller.aborted = true;
        controller.reason = reason;
        request?.destroy(reason);
      },
    };
    const fail = (error) => (isOld ? handler.onError(error) : handler.onResponseError(controller, error));
    if (isOld) handler.onConnect(controller.abort, {});
    else handler.onRequestStart(controller, {});
    if (controller.aborted) return fail(controller.reason), true;
    request = require("node:http").request(url.href, { method, headers: pairs });
    request.on("error", fail);
    request.on("response", (response) => {
      answer = response;
      const { statusCode, statusMessage, rawHeaders } = response;
      controller.rawHeaders = rawHeaders.map((one) => Buffer.from(one));
      if (isOld) handler.onHeaders(statusCode, controller.rawHeaders, controller.resume, statusMessage);
      else handler.onResponseStart(controller, statusCode, response.headers, statusMessage);
      response.on("data", (chunk) => {
        if (!isOld) handler.onResponseData(controller, chunk);
        else if (handler.onData(chunk) === false) response.pause();
      });
      response.on("end", () => (isOld ? handler.onComplete([]) : handler.onResponseEnd(controller, {})));
      response.on("error", fail);
    });
    send(request, body).catch((error) => request.destroy(error));
    return true;
  };
}
`;

/**
 * esbuild writes no types for decorators, and containers, which need those of a constructor, fail in another place. A
 * class whose parameters have decorators tells them its needs.
 */
const REFLECTION = `
{
  const { Reflect } = globalThis;
  const { getMetadata } = Reflect;
  const told = new Set();
  Reflect.getMetadata = (key, target, ...property) => {
    const found = getMetadata(key, target, ...property);
    if (found !== undefined || key !== "design:paramtypes" || property.length > 0) return found;
    const isSilent = typeof target !== "function" || target.length === 0 || Reflect.getOwnMetadataKeys(target).length > 0;
    if (!isSilent && !told.has(target)) {
      told.add(target);
      console.warn(\`\${target.name} has no "design:paramtypes": bundling leaves out what emitDecoratorMetadata would write; name what the constructor takes in decorators, such as @Inject(Log), or register what tsc makes of the tool\`);
    }
    return found;
  };
}
`;

/** PDF.js takes its worker's module by a computed name. */
const PDF = `
globalThis.pdfjsWorker ??= { get WorkerMessageHandler() { return require("./pdf.worker.mjs").WorkerMessageHandler; } };
`;

const ADDITIONS: readonly Addition[] = [
  { file: /(?:^|\/)axios\/(?:lib\/adapters\/adapters\.js|dist\/browser\/axios\.cjs)$/, after: AXIOS },
  { file: /(?:^|\/)undici\/index\.js$/, after: UNDICI },
  { file: /(?:^|\/)reflect-metadata\/Reflect(?:Lite)?\.js$/, after: REFLECTION },
  // Without a canvas it draws nothing, and uses no matrix that it makes.
  {
    file: /(?:^|\/)pdfjs-dist\/(?:legacy\/)?build\/pdf\.mjs$/,
    before: "globalThis.DOMMatrix ??= class DOMMatrix {};",
    after: PDF,
  },
];
