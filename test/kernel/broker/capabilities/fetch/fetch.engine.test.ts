import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, test } from "vitest";
import { defineCapability } from "../../../../../src/kernel/broker/capabilities/custom.ts";
import { createEngine, type Engine } from "../../../../../src/glovebox/index.ts";
import type { EngineOptions } from "../../../../../src/kernel/engine/options.ts";
import { serve, type TestServer } from "./server.ts";
import { openModules } from "../../../tool/define/modules.ts";

const VALUE = "a value that nobody may see";

/** A tool that sends one request. */
const source = `export default async ({ url, ...init }) => {
  const response = await fetch(url, init);
  return { status: response.status, url: response.url, redirected: response.redirected, text: await response.text() };
};`;

async function open(server: Pick<TestServer, "origin">, options: EngineOptions = {}): Promise<Engine> {
  const engine = await createEngine({
    workers: 1,
    executor: "threads",
    policy: {
      rules: [{ allow: { fetch: { origins: [], privateOrigins: [server.origin] }, secrets: ["KEY"], leaky: true } }],
    },
    secrets: { KEY: { value: VALUE, bind: [{ origin: server.origin, in: "header:x-key" }] } },
    ...options,
  });
  const capabilities = { fetch: { origins: [server.origin], methods: ["GET", "POST"] }, secrets: ["KEY"], leaky: true };
  await engine.register({ name: "get", description: "Gets.", source, capabilities });
  return engine;
}

/** A server that answers with what it gets. */
async function serveEcho(): Promise<Pick<TestServer, "origin"> & AsyncDisposable> {
  const server = createServer((request, response) => {
    response.writeHead(200, { "content-type": request.headers["content-type"] ?? "" });
    request.pipe(response);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  return { origin: `http://127.0.0.1:${port}`, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

describe("a tool's request", () => {
  test("goes through the engine, with the secret that it never sees", async () => {
    await using server = await serve((request, response) => response.end(`got ${String(request.headers["x-key"])}`));
    await using engine = await open(server);
    const events: unknown[] = [];
    engine.on("capability:call", (event) => events.push(event));
    const headers = { "x-key": "glovebox.secret.KEY." };
    const result = await engine.execute({ name: "get", arguments: { url: server.origin, headers } });
    expect(result.output).toMatchObject({ status: 200, text: "got glovebox.secret.KEY." });
    expect(server.seen[0]?.headers["x-key"]).toBe(VALUE);
    expect(events).toHaveLength(1);
    expect(JSON.stringify([events, result])).not.toContain(VALUE);
  });

  test("with a secret in a place that is not bound to it is refused, and the engine tells of it", async () => {
    await using server = await serve((_request, response) => response.end());
    await using engine = await open(server);
    const events: unknown[] = [];
    engine.on("secret:violation", (event) => events.push(event));
    const url = `${server.origin}/?key=glovebox.secret.KEY.`;
    const { error } = await engine.execute({ name: "get", arguments: { url } }, { tenant: "acme" });
    expect(error?.code).toBe("capability_denied");
    expect(error?.message).toContain('the secret "KEY" is not bound to query:key');
    expect(events).toMatchObject([
      { tool: "get", tenant: "acme", secret: "KEY", origin: server.origin, place: "query:key", reason: "place" },
    ]);
    expect(server.seen).toEqual([]);
  });

  test("that is refused tells the tool what is granted, and how to grant more", async () => {
    await using server = await serve((_request, response) => response.end());
    await using engine = await open(server);
    const { error } = await engine.execute({ name: "get", arguments: { url: "https://evil.example/a?b=c" } });
    expect(error?.code).toBe("capability_denied");
    expect(error?.message).toContain("GET https://evil.example/a was not granted");
    expect(error?.message).toContain(`granted: GET, POST to ${server.origin}`);
    expect(error?.message).toContain('add "https://evil.example" to fetch.origins');
    expect(error?.message).not.toContain("b=c");
  });

  test("is cut off with its call", async () => {
    await using server = await serve(() => {});
    await using engine = await open(server);
    const call = { name: "get", arguments: { url: server.origin } };
    const caller = new AbortController();
    const ended = engine.execute(call, { signal: caller.signal });
    await expect.poll(() => server.seen).toHaveLength(1);
    caller.abort();
    expect((await ended).error?.code).toBe("cancelled");
    await expect.poll(() => server.open()).toBe(0);
  });

  test("is cut off with the engine, which closes without waiting for servers", async () => {
    await using server = await serve((_request, response) => response.end("ok"));
    const engine = await open(server);
    expect((await engine.execute({ name: "get", arguments: { url: server.origin } })).success).toBe(true);
    await engine.close({ drainMs: 0 });
    await expect.poll(() => server.open()).toBe(0);
  });
});

describe("what a tool does with fetch as on the web", () => {
  /** Runs a tool's function once, against the server. */
  async function run(server: Pick<TestServer, "origin">, body: string): Promise<unknown> {
    await using engine = await open(server);
    const capabilities = { fetch: { origins: [server.origin], methods: ["GET", "POST"] } };
    await engine.register({ name: "web", description: "a", source: `export default ${body};`, capabilities });
    const { output, error } = await engine.execute({ name: "web", arguments: { origin: server.origin } });
    return output ?? error;
  }

  test("follows redirects and says so", async () => {
    await using server = await serve((request, response) => {
      if (request.url === "/old") response.writeHead(302, { location: "/new" }).end();
      else response.end("there");
    });
    const body = `async ({ origin }) => {
      const response = await fetch(origin + "/old");
      return [response.redirected, new URL(response.url).pathname, await response.text()];
    }`;
    expect(await run(server, body)).toEqual([true, "/new", "there"]);
  });

  test("posts JSON, forms and bytes", async () => {
    await using server = await serveEcho();
    const body = `async ({ origin }) => {
      const post = (body, headers) => fetch(origin, { method: "POST", body, headers });
      const form = new FormData();
      form.set("name", "Ada");
      form.set("file", new File(["hello"], "a.txt", { type: "text/plain" }));
      const back = await (await post(form)).formData();
      return [
        await (await post(JSON.stringify({ a: 1 }), { "content-type": "application/json" })).json(),
        [back.get("name"), back.get("file").name, await back.get("file").text()],
        [...await (await post(new Uint8Array([0, 255, 128]))).bytes()],
        await (await post(new URLSearchParams({ q: "a b" }))).text(),
      ];
    }`;
    expect(await run(server, body)).toEqual([{ a: 1 }, ["Ada", "a.txt", "hello"], [0, 255, 128], "q=a+b"]);
  });

  test("reads a body as it comes", async () => {
    await using server = await serve((request, response) => {
      if (request.url === "/go") return response.end();
      response.write("first;");
      const timer = setInterval(() => server.seen.length > 1 && response.end("second"), 5);
      return response.on("close", () => clearInterval(timer));
    });
    const body = `async ({ origin }) => {
      const { body } = await fetch(origin);
      const parts = [];
      for await (const chunk of body.pipeThrough(new TextDecoderStream())) {
        parts.push(chunk);
        if (parts.length === 1) await fetch(origin + "/go").catch(() => 0);
      }
      return parts;
    }`;
    expect(await run(server, body)).toEqual(["first;", "second"]);
  });

  test("gives up by its own signal, and the server sees it", async () => {
    await using server = await serve(() => {});
    const body = `({ origin }) => fetch(origin, { signal: AbortSignal.timeout(50) }).catch((error) => error.name)`;
    expect(await run(server, body)).toBe("TimeoutError");
    await expect.poll(() => server.open()).toBe(0);
  });

  test("hears of a server that is not there as on the web", async () => {
    const server = await serve(() => {});
    await server[Symbol.asyncDispose]();
    const body = `({ origin }) => fetch(origin).catch((error) => [error.name, error.message, error.cause.code])`;
    expect(await run(server, body)).toEqual(["TypeError", "fetch failed", "capability_failed"]);
  });
});

test("a message that a handler redacts is without secrets, also where a cut would halve one", async () => {
  await using server = await serve((_request, response) => response.end());
  const leaky = defineCapability({
    name: "leaky",
    methods: {
      fail: {
        handler: ({ padding }: { readonly padding: number }, { redact }) => {
          throw new Error(redact(`${"x".repeat(padding)} ${VALUE} /${VALUE}`));
        },
      },
    },
  });
  await using engine = await open(server, { capabilities: [leaky] });
  await engine.register({
    name: "leak",
    description: "Leaks.",
    source: "export default async (args, { host }) => await host.leaky.fail(args)",
    capabilities: { leaky: true },
  });
  for (const padding of [0, 1_950, 1_960, 1_970, 1_980, 1_990]) {
    const { error } = await engine.execute({ name: "leak", arguments: { padding } });
    expect(error?.code).toBe("capability_failed");
    expect(error?.message).not.toContain("a value");
  }
});

test("an engine whose secret is too short to be kept out of answers does not start", async () => {
  const secrets = { KEY: { value: "short", bind: [{ origin: "https://api.example.com" }] } };
  await expect(createEngine({ workers: 1, executor: "threads", secrets })).rejects.toThrow(
    "secrets.KEY is not 8 to 4096 characters long",
  );
});

test("a request of node:http is one of fetch: its body arrives, and so does the answer", async () => {
  await using server = await serveEcho();
  await using engine = await open(server);
  const source = `import http from "node:http";
    export default ({ url }) => new Promise((resolve, reject) => {
      const request = http.request(url, { method: "POST", auth: null, headers: { "content-type": "text/plain" } }, (response) => {
        let text = "";
        response.on("data", (chunk) => (text += chunk));
        response.on("end", () => resolve([response.statusCode, response.headers["content-type"], text]));
      });
      request.on("error", reject);
      request.end("hello");
    });`;
  const capabilities = { fetch: { origins: [server.origin], methods: ["POST"] } };
  await engine.register({ name: "post", description: "Posts.", source, capabilities });
  const { output, error } = await engine.execute({ name: "post", arguments: { url: server.origin } });
  expect(error).toBeNull();
  expect(output).toEqual([200, "text/plain", "hello"]);
});

test("clients of the package undici ask by fetch, and get answers of Node's streams", async () => {
  await using server = await serveEcho();
  await using engine = await open(server);
  await using modules = await openModules();
  const entry = await modules.write(
    "asks.mjs",
    `import { Client, request } from "undici";
    const headers = { "content-type": "text/plain" };
    export default async ({ url }) => {
      const one = await request(url, { method: "POST", headers, body: "hello" });
      const other = await new Client(url).request({ path: "/", method: "POST", headers, body: ["in", "parts"] });
      return [one.statusCode, one.headers["content-type"], await one.body.text(), await other.body.text()];
    };`,
  );
  const capabilities = { fetch: { origins: [server.origin], methods: ["POST"] } };
  await engine.register({ name: "asks", description: "Posts.", entry, capabilities });
  const { output, error } = await engine.execute({ name: "asks", arguments: { url: server.origin } });
  expect(error).toBeNull();
  expect(output).toEqual([200, "text/plain", "hello", "inparts"]);
});

test("an application of fastify answers requests that its tool injects", async () => {
  await using server = await serveEcho();
  await using engine = await open(server);
  await using modules = await openModules();
  const entry = await modules.write(
    "injects.mjs",
    `import fastify from "fastify";
    export default async () => {
      const app = fastify();
      app.get("/a", async () => ({ a: 1 }));
      app.delete("/a", async (_, reply) => reply.code(204).send());
      const answers = await Promise.all(["GET", "HEAD", "DELETE"].map((method) => app.inject({ method, url: "/a" })));
      return answers.map(({ statusCode, body }) => [statusCode, body]);
    };`,
  );
  await engine.register({ name: "injects", description: "Asks itself.", entry });
  const { output, error } = await engine.execute({ name: "injects", arguments: {} });
  expect(error).toBeNull();
  expect(output).toEqual([
    [200, '{"a":1}'],
    [200, ""],
    [204, ""],
  ]);
});

test("a request of node:http that fails has Node's code, by which programs try again", async () => {
  await using server = await serve((request) => request.socket.destroy());
  await using engine = await open(server);
  const source = `import http from "node:http";
    export default ({ url }) => new Promise((resolve) => {
      http.get(url, resolve).on("error", ({ name, message, code }) => resolve([name, message, code]));
    });`;
  const capabilities = { fetch: { origins: [server.origin] } };
  await engine.register({ name: "lost", description: "Asks.", source, capabilities });
  const lost = await engine.execute({ name: "lost", arguments: { url: server.origin } });
  expect(lost.output).toEqual(["Error", "socket hang up", "ECONNRESET"]);
  await server[Symbol.asyncDispose]();
  const refused = await engine.execute({ name: "lost", arguments: { url: server.origin } });
  expect(refused.output).toEqual(["Error", "connect ECONNREFUSED", "ECONNREFUSED"]);
});
