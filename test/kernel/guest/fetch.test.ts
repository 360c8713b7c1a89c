import { describe, expect, test } from "vitest";
import { type FakeHost, type HostAnswer, openRealm } from "./in-realm.ts";

interface Asked {
  readonly method: string;
  readonly args: Record<string, unknown>;
}

const OK = {
  url: "https://example.org/",
  status: 200,
  statusText: "OK",
  headers: [["Content-Type", "application/json"]],
  redirected: false,
  opaque: false,
  body: { part: { text: '{"n":1}' }, more: false },
};

/** A host that answers each method with what stands there for it, in order, the last one again and again. */
function answering(answers: { [method: string]: HostAnswer[] }): { asked: Asked[]; host: FakeHost } {
  const asked: Asked[] = [];
  const host: FakeHost = (method, args, capability) => {
    expect(capability).toBe("fetch");
    asked.push({ method, args });
    const left = answers[method] ?? [];
    return left.length > 1 ? left.shift() : left[0];
  };
  return { asked, host };
}

/** Runs a tool that fetches, and gives its output and what it asked. */
async function run(body: string, answers: { [method: string]: HostAnswer[] }, input: unknown = null) {
  const { asked, host } = answering(answers);
  using realm = await openRealm(body, { host });
  return { output: realm.call(input), asked };
}

/** The headers of the first request. */
function headersOf(asked: readonly Asked[]): readonly [string, string][] {
  return (asked[0]?.args["headers"] ?? []) as [string, string][];
}

const response = (more: object) => ({ value: { ...OK, ...more } });

describe("what is sent", () => {
  test("a plain fetch is one ask", async () => {
    const { output, asked } = await run("async () => (await fetch('https://example.org/a#b')).json()", {
      request: [{ value: OK }],
    });
    expect(output).toEqual({ n: 1 });
    expect(asked).toEqual([
      {
        method: "request",
        args: { id: 1, url: "https://example.org/a", method: "GET", headers: [], body: null, redirect: "follow" },
      },
    ]);
  });

  test("method, headers, body and redirect are as the tool says", async () => {
    const { asked } = await run(
      `async () => void await fetch("https://a.example", {
        method: "post", headers: { "X-One": " 1 " }, body: "näh", redirect: "manual" })`,
      { request: [{ value: OK }] },
    );
    expect(asked[0]?.args).toEqual({
      id: 1,
      url: "https://a.example/",
      method: "POST",
      headers: [
        ["x-one", "1"],
        ["content-type", "text/plain;charset=UTF-8"],
      ],
      body: { text: "näh" },
      redirect: "manual",
    });
  });

  test.each([
    ["URLSearchParams", "new URLSearchParams({ a: 'ä b' })", { text: "a=%C3%A4+b" }, /^application\/x-www-form-url/],
    ["a Blob", "new Blob(['x'], { type: 'text/css' })", { text: "x" }, /^text\/css$/],
    ["bytes that are text", "new Uint8Array([226, 130, 172])", { text: "€" }, null],
    ["bytes that are no text", "new Uint8Array([255, 0, 1])", { base64: "/wAB" }, null],
    ["a buffer", "new Uint16Array([0xffff]).buffer", { base64: "//8=" }, null],
    ["a view", "new DataView(new Uint8Array([1, 255, 3]).buffer, 1, 1)", { base64: "/w==" }, null],
  ])("%s is sent with its type", async (_name, body, part, type) => {
    const { asked } = await run(
      `async () => void await fetch("https://a.example", { method: "POST", body: ${body} })`,
      {
        request: [{ value: OK }],
      },
    );
    expect(asked[0]?.args["body"]).toEqual(part);
    const [header] = headersOf(asked);
    if (type === null) expect(header).toBeUndefined();
    else expect(header?.[1]).toMatch(type);
  });

  test("a form is sent as multipart text, with its boundary in the type", async () => {
    const { asked } = await run(
      `async () => {
        const form = new FormData();
        form.append("a", "1\\n2");
        form.append("f", new File(["x"], 'q".txt', { type: "text/plain" }));
        await fetch("https://a.example", { method: "POST", body: form });
      }`,
      { request: [{ value: OK }] },
    );
    const type = headersOf(asked)[0]?.[1] ?? "";
    const boundary = /^multipart\/form-data; boundary=(\S+)$/.exec(type)?.[1] ?? "none";
    expect(asked[0]?.args["body"]).toEqual({
      text: [
        `--${boundary}`,
        'Content-Disposition: form-data; name="a"',
        "",
        "1\r\n2",
        `--${boundary}`,
        'Content-Disposition: form-data; name="f"; filename="q%22.txt"',
        "Content-Type: text/plain",
        "",
        "x",
        `--${boundary}--`,
        "",
      ].join("\r\n"),
    });
  });

  test("a stream is gathered before it is sent", async () => {
    const { asked } = await run(
      `async () => {
        const body = new ReadableStream({ start(c) { c.enqueue("ab"); c.enqueue("c€"); c.close(); } });
        const init = { method: "POST", body: body.pipeThrough(new TextEncoderStream()), duplex: "half" };
        await fetch("https://a.example", init);
      }`,
      { request: [{ value: OK }] },
    );
    expect(asked[0]?.args["body"]).toEqual({ text: "abc€" });
  });

  test.each([
    ["an async generator", "(async function* () { yield 'a'; yield new Uint8Array([98]); yield 'c€'; })()", null],
    ["a stream of Node's without an iterator", "old({})", null],
    ["a form of form-data", "old({ getBoundary: () => 'x' })", "multipart/form-data; boundary=x"],
  ])("%s is sent as its pieces", async (_name, body, type) => {
    const { asked } = await run(
      `async () => {
        const old = (more) => {
          const listeners = {};
          const pieces = ["a", new Uint8Array([98]), "c€"];
          return {
            ...more,
            on: (event, listener) => { listeners[event] = listener; },
            pipe() {},
            resume: () => queueMicrotask(() => pieces.length > 0 ? listeners.data(pieces.shift()) : listeners.end()),
          };
        };
        await fetch("https://a.example", { method: "POST", body: ${body}, duplex: "half" });
      }`,
      { request: [{ value: OK }] },
    );
    expect(asked[0]?.args["body"]).toEqual({ text: "abc€" });
    expect(headersOf(asked)).toEqual(type === null ? [] : [["content-type", type]]);
  });

  test("a stream without end is cut off, and nothing is sent", async () => {
    const { output, asked } = await run(
      `async () => {
        let cancelled = false;
        const piece = new Uint8Array(4 * 1024 * 1024);
        const body = new ReadableStream({ pull(c) { c.enqueue(piece); }, cancel() { cancelled = true; } });
        try { await fetch("https://a.example", { method: "POST", body, duplex: "half" }); }
        catch (error) { return [error.name, error.message, cancelled]; }
      }`,
      { request: [{ value: OK }] },
    );
    expect(output).toEqual(["TypeError", "The body has more than 33554432 bytes", true]);
    expect(asked).toEqual([]);
  });

  test("requests are numbered for each call, and belong to the call that makes them", async () => {
    const { asked, host } = answering({ request: [{ value: OK }] });
    using realm = await openRealm(
      "async () => { await fetch('https://a.example'); await fetch('https://b.example'); }",
      {
        host,
        shared: true,
      },
    );
    realm.call();
    realm.call();
    expect(asked.map(({ args }) => args["id"])).toEqual([1, 2, 1, 2]);
    expect(realm.emitted.filter(([kind]) => kind === 2).map(([, call]) => call)).toEqual([1, 1, 2, 2]);
  });

  test("a placeholder of a secret is sent as it stands", async () => {
    const { asked } = await run(
      `async (_, { host }) => void await host.fetch("https://a.example/?k=" + host.secrets.KEY, {
        headers: { authorization: "Bearer " + host.secrets.KEY } })`,
      { request: [{ value: OK }] },
    );
    expect(asked[0]?.args).toMatchObject({
      url: "https://a.example/?k=glovebox.secret.KEY.",
      headers: [["authorization", "Bearer glovebox.secret.KEY."]],
    });
  });
});

describe("what comes back", () => {
  test("a response shows what the host says", async () => {
    const { output } = await run(
      `async () => {
        const r = await fetch("https://a.example");
        return [r.url, r.status, r.statusText, r.ok, r.redirected, r.type, [...r.headers], await r.text(), r.bodyUsed];
      }`,
      { request: [response({ status: 404, statusText: "Not Found", url: "https://b.example/", redirected: true })] },
    );
    const headers = [["content-type", "application/json"]];
    const shown = ["https://b.example/", 404, "Not Found", false, true, "basic", headers, '{"n":1}', true];
    expect(output).toEqual(shown);
  });

  test("a redirect that is not followed shows its status and headers", async () => {
    const { output } = await run(
      `async () => {
        const r = await fetch("https://a.example", { redirect: "manual" });
        return [r.type, r.status, r.headers.get("location")];
      }`,
      { request: [response({ status: 302, opaque: true, headers: [["Location", "/x"]], body: null })] },
    );
    expect(output).toEqual(["opaqueredirect", 302, "/x"]);
  });

  test("its headers cannot be changed", async () => {
    const { output } = await run(
      `async () => {
        const { headers } = await fetch("https://a.example");
        try { headers.set("a", "b"); } catch (error) { return error.name; }
      }`,
      { request: [{ value: OK }] },
    );
    expect(output).toBe("TypeError");
  });

  const PIECES = [
    { value: { part: { text: "b€" }, more: true } },
    { value: { part: { base64: "4oI=" }, more: true } },
    { value: { part: { base64: "rGM=" }, more: true } },
    { value: { part: null, more: false } },
  ];

  test("a body comes in pieces, of text and of bytes, and characters may be cut between them", async () => {
    const { output, asked } = await run("async () => (await fetch('https://a.example')).text()", {
      request: [response({ body: { part: { text: "a" }, more: true } })],
      read: [...PIECES],
    });
    expect(output).toBe("ab€€c");
    expect(asked.slice(1)).toEqual(Array.from({ length: 4 }, () => ({ method: "read", args: { id: 1 } })));
  });

  test("a body can be read as bytes, as a blob, and as a stream", async () => {
    const body = `async ({ how }) => {
      const r = await fetch('https://a.example');
      if (how === "bytes") return [...await r.bytes()];
      if (how === "buffer") return [...new Uint8Array(await r.arrayBuffer())];
      if (how === "blob") { const b = await r.blob(); return [b.type, ...await b.bytes()]; }
      const all = [];
      for await (const piece of r.body) all.push(...piece);
      return all;
    }`;
    const bytes = [...new TextEncoder().encode("ab€€c")];
    for (const how of ["bytes", "buffer", "blob", "stream"]) {
      const answers = { request: [response({ body: { part: { text: "a" }, more: true } })], read: [...PIECES] };
      const { output } = await run(body, answers, { how });
      expect(output).toEqual(how === "blob" ? ["application/json", ...bytes] : bytes);
    }
  });

  test("a stream of a body asks only when somebody reads", async () => {
    const { asked } = await run(
      `async () => {
        const reader = (await fetch('https://a.example')).body.getReader();
        await reader.read();
        await reader.read();
      }`,
      { request: [response({ body: { part: { text: "a" }, more: true } })], read: [...PIECES] },
    );
    expect(asked.map(({ method }) => method)).toEqual(["request", "read"]);
  });

  test("a clone gives the same body", async () => {
    const { output } = await run(
      `async () => {
        const r = await fetch('https://a.example');
        const c = r.clone();
        return [await c.text(), await r.text()];
      }`,
      { request: [response({ body: { part: { text: "a" }, more: true } })], read: [...PIECES] },
    );
    expect(output).toEqual(["ab€€c", "ab€€c"]);
  });

  test("a stream that is cancelled is given up at the host", async () => {
    const { output, asked } = await run(
      `async () => {
        const { body } = await fetch('https://a.example');
        await body.cancel();
        return (await body.getReader().read()).done;
      }`,
      { request: [response({ body: { part: { text: "a" }, more: true } })], read: PIECES, cancel: [{ value: null }] },
    );
    expect(output).toBe(true);
    expect(asked.map(({ method }) => method)).toEqual(["request", "cancel"]);
  });

  test("a status without body has none", async () => {
    const { output } = await run(
      "async () => { const r = await fetch('https://a.example'); return [r.body, await r.text()]; }",
      { request: [response({ status: 204 })] },
    );
    expect(output).toEqual([null, ""]);
  });

  test("a byte order mark is left out of text, and kept in bytes", async () => {
    const { output } = await run(
      `async () => {
        const r = await fetch('https://a.example');
        const c = r.clone();
        return [await r.text(), (await c.bytes()).length];
      }`,
      { request: [response({ body: { part: { text: "\ufeffx" }, more: false } })] },
    );
    expect(output).toEqual(["x", 4]);
  });
});

describe("a data: URL", () => {
  test.each([
    ["data:,a%20b#c", "text/plain;charset=US-ASCII", "a b"],
    ["data:text/HTML;charset=utf-8,%C3%A9", "text/html;charset=utf-8", "é"],
    ["data:;charset=x,a", "text/plain;charset=x", "a"],
    ["data:text/plain;base64,YWJj", "text/plain", "abc"],
    ["data:text/plain ; base64 , Y W J%6A ", "text/plain", "abc"],
    ["DATA:application/json;base64,e30", "application/json", "{}"],
    ["data:x,a", "text/plain;charset=US-ASCII", "a"],
    ["data:a/b;base64=1,YQ", "a/b;base64=1", "YQ"],
    ["data:,?a=b", "text/plain;charset=US-ASCII", "?a=b"],
  ])("%s is fetched without asking the host", async (url, type, text) => {
    const { output, asked } = await run(
      "async (url) => { const r = await fetch(url); return [r.status, r.headers.get('content-type'), await r.text()]; }",
      {},
      url,
    );
    expect(output).toEqual([200, type, text]);
    expect(asked).toEqual([]);
  });

  test.each(["data:a", "data:;base64,a", "data:;base64,!!!!"])("%s fails", async (url) => {
    const { output } = await run("async (url) => fetch(url).catch((e) => [e.name, e.message, e.cause.name])", {}, url);
    expect(output).toEqual(["TypeError", "fetch failed", "TypeError"]);
  });
});

describe("what goes wrong", () => {
  const FAIL = `async () => {
    try { await (await fetch("https://a.example")).text(); }
    catch (e) { return [e.name, e.message, e.code ?? null, e.cause?.name ?? null, e.cause?.code ?? null, e.cause?.message]; }
  }`;

  test("a request that fails is Node's TypeError, with the capability's error as its cause", async () => {
    const { output } = await run(FAIL, { request: [{ code: "capability_failed", message: "connection refused" }] });
    const cause = ["CapabilityError", "capability_failed", "connection refused"];
    expect(output).toEqual(["TypeError", "fetch failed", null, ...cause]);
  });

  test.each(["capability_denied", "capability_limit"])("a refusal (%s) stays the engine's error", async (code) => {
    const { output } = await run(FAIL, { request: [{ code, message: "no" }] });
    expect(output).toEqual(["CapabilityError", "no", code, null, null, null]);
  });

  test("a refusal that nobody catches ends the call with its code", async () => {
    const { host } = answering({ request: [{ code: "capability_denied", message: "no" }] });
    using realm = await openRealm("async () => void await fetch('https://a.example')", { host });
    expect(() => realm.call()).toThrow(/^-\{"code":"capability_denied"/);
  });

  test("a failure that nobody catches says why the request failed", async () => {
    const { host } = answering({ request: [{ code: "capability_failed", message: "connection refused" }] });
    using realm = await openRealm("async () => void await fetch('https://a.example')", { host });
    expect(() => realm.call()).toThrow('"message":"fetch failed (cause: connection refused)"');
  });

  test("a body that breaks off rejects whoever reads it", async () => {
    const { output } = await run(FAIL, {
      request: [response({ body: { part: { text: "a" }, more: true } })],
      read: [{ code: "capability_failed", message: "cut" }],
    });
    expect(output).toEqual(["TypeError", "terminated", null, "CapabilityError", "capability_failed", "cut"]);
  });

  test.each([
    ["no URL", "fetch('//x')", "TypeError"],
    ["a URL with credentials", "fetch('https://a:b@c.example')", "TypeError"],
    ["a forbidden method", "fetch('https://c.example', { method: 'TRACE' })", "TypeError"],
    ["a body of a GET", "fetch('https://c.example', { body: 'x' })", "TypeError"],
    ["nothing at all", "fetch()", "TypeError"],
  ])("%s rejects, and nothing is asked", async (_name, expression, name) => {
    const { output, asked } = await run(`async () => ${expression}.catch((error) => error.name)`, {});
    expect(output).toBe(name);
    expect(asked).toEqual([]);
  });
});

describe("a signal", () => {
  test("that is aborted already rejects with its reason, and nothing is asked", async () => {
    const { output, asked } = await run(
      "async () => fetch('https://a.example', { signal: AbortSignal.abort('why') }).catch((reason) => reason)",
      { request: [{ value: OK }] },
    );
    expect(output).toBe("why");
    expect(asked).toEqual([]);
  });

  test("rejects at once while the host is busy, and tells the host", async () => {
    const { output, asked } = await run(
      `async () => fetch('https://a.example', { signal: AbortSignal.timeout(5) }).catch((reason) => reason.name)`,
      { cancel: [{ value: null }] },
    );
    expect(output).toBe("TimeoutError");
    expect(asked.map(({ method, args }) => [method, args["id"]])).toEqual([
      ["request", 1],
      ["cancel", 1],
    ]);
  });

  test("rejects who reads the body, and tells the host once", async () => {
    const { output, asked } = await run(
      `async () => {
        const controller = new AbortController();
        const r = await fetch('https://a.example', { signal: controller.signal });
        const text = r.text().catch((reason) => reason.name);
        setTimeout(() => controller.abort(), 5);
        const result = await text;
        controller.abort();
        return result;
      }`,
      { request: [response({ body: { part: { text: "a" }, more: true } })], cancel: [{ value: null }] },
    );
    expect(output).toBe("AbortError");
    expect(asked.map(({ method }) => method)).toEqual(["request", "read", "cancel"]);
  });

  test("does nothing once the whole response has come", async () => {
    const { output, asked } = await run(
      `async () => {
        const controller = new AbortController();
        const r = await fetch('https://a.example', { signal: controller.signal });
        const text = await r.text();
        controller.abort();
        return text;
      }`,
      { request: [{ value: OK }] },
    );
    expect(output).toBe('{"n":1}');
    expect(asked.map(({ method }) => method)).toEqual(["request"]);
  });

  test("of a request is followed", async () => {
    const { output } = await run(
      `async () => {
        const controller = new AbortController();
        const request = new Request('https://a.example', { signal: controller.signal });
        setTimeout(() => controller.abort(), 5);
        return fetch(request).catch((reason) => [reason.name, request.signal.aborted]);
      }`,
      { cancel: [{ value: null }] },
    );
    expect(output).toEqual(["AbortError", true]);
  });
});

describe("a call that has ended", () => {
  test("asks for nothing any more", async () => {
    const { host, asked } = answering({ request: [{ value: OK }] });
    using realm = await openRealm(
      "() => { void Promise.resolve().then(() => fetch('https://a.example')); return 1; }",
      {
        host,
      },
    );
    expect(realm.call()).toBe(1);
    expect(asked).toEqual([]);
  });

  test("leaves later calls of a shared module a body that breaks off, not one that never comes", async () => {
    const { host } = answering({ request: [response({ body: { part: { text: "a" }, more: true } })] });
    const body = `async () => {
      if (kept === null) { kept = await fetch("https://a.example"); return "kept"; }
      return kept.text().catch((error) => [error.name, error.message, error.cause.message]);
    }`;
    using realm = await openRealm(body, { before: "let kept = null;", shared: true, host });
    expect(realm.call()).toBe("kept");
    expect(realm.call()).toEqual(["TypeError", "terminated", "the call that made the request has ended"]);
  });
});

describe("the realm", () => {
  test("has one fetch, which is also the host's", async () => {
    const { output } = await run(
      "(_, { host }) => [host.fetch === fetch, fetch.name, fetch.length, typeof fetch.prototype]",
      {},
    );
    expect(output).toEqual([true, "fetch", 1, "undefined"]);
  });

  test("that is open has it as well", async () => {
    const { host } = answering({ request: [{ value: OK }] });
    using realm = await openRealm("async () => (await fetch('https://a.example')).json()", { host, hardened: false });
    expect(realm.call()).toEqual({ n: 1 });
  });

  test("lets a tool have a fetch of its own for a call", async () => {
    using realm = await openRealm(
      "() => { const had = typeof fetch; globalThis.fetch = 1; return [had, globalThis.fetch]; }",
    );
    expect(realm.call()).toEqual(["function", 1]);
    expect(realm.call()).toEqual(["function", 1]);
  });
});
