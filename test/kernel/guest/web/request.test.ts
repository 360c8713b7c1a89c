import { expect, test } from "vitest";
import { inTool } from "./in-tool.ts";

test("a request has the standard's defaults", async () => {
  const found = await inTool(`
    const r = new Request("https://a.example/b?c#d");
    return [r.method, r.url, [...r.headers], r.redirect, r.body, r.bodyUsed, r.mode, r.credentials, r.cache, r.referrer,
      r.referrerPolicy, r.integrity, r.keepalive, r.destination, r.duplex, r.signal.aborted];
  `);
  const own = ["GET", "https://a.example/b?c#d", [], "follow", null, false];
  const ofBrowsers = ["cors", "same-origin", "default", "about:client", "", "", false, ""];
  expect(found).toEqual([...own, ...ofBrowsers, "half", false]);
});

test("methods are normalised as the standard says", async () => {
  const methods = await inTool(`
    return ["get", "Post", "delete", "options", "head", "put", "patch", "Patch", "mine"].map((method) => new Request("a:b", { method }).method);
  `);
  expect(methods).toEqual(["GET", "POST", "DELETE", "OPTIONS", "HEAD", "PUT", "patch", "Patch", "mine"]);
});

test("a request of a request takes over what the init does not say", async () => {
  const found = await inTool(`
    const first = new Request("https://a.example", { method: "POST", headers: { a: "1" }, body: "x", redirect: "error", cache: "no-store" });
    const second = new Request(first, { headers: { b: "2" } });
    const third = new Request(new Request("a:b", { method: "PUT", body: "1" }), { body: "2" });
    return [first.bodyUsed, second.method, second.url, [...second.headers], second.redirect, second.cache, await second.text(), await third.text()];
  `);
  const headers = [["b", "2"]];
  expect(found).toEqual([true, "POST", "https://a.example/", headers, "error", "no-store", "x", "2"]);
});

test("a clone is as the request, with a body and a signal of its own", async () => {
  const found = await inTool(`
    const controller = new AbortController();
    const first = new Request("https://a.example", { method: "POST", body: "x", signal: controller.signal });
    const copy = first.clone();
    controller.abort("why");
    return [copy.method, copy.headers.get("content-type"), await first.text(), await copy.text(), copy.signal.reason, first.signal !== copy.signal];
  `);
  expect(found).toEqual(["POST", "text/plain;charset=UTF-8", "x", "x", "why", true]);
});

test("what no request can be is refused", async () => {
  const inits = [
    ["{ method: 'CONNECT' }", "{ method: 'trace' }", "{ method: 'TRACK' }", "{ method: 'a b' }", "{ method: '' }"],
    ["{ body: '' }", "{ method: 'HEAD', body: '' }", "{ mode: 'navigate' }", "{ mode: 'x' }", "{ redirect: 'x' }"],
    ["{ cache: 'only-if-cached' }", "{ signal: {} }", "{ signal: 1 }", "{ window: {} }", "{ referrer: '//' }", "1"],
    [
      "{ method: 'POST', body: new ReadableStream() }",
      "{ method: 'POST', body: '', duplex: 'full' }",
      "{ headers: 1 }",
    ],
  ].flat();
  const names = await inTool(`
    const inits = [${inits.map((init) => `() => new Request("a:b", ${init})`).join(", ")}];
    const others = [() => new Request(), () => new Request("/a"), () => new Request("https://u:p@a.example"), () => Request("a:b")];
    return Promise.all([...inits, ...others].map(thrown));
  `);
  expect(names).toEqual(Array.from({ length: inits.length + 4 }, () => "TypeError"));
});

test("null is no init, no body and no signal", async () => {
  const found = await inTool(`
    const r = new Request("a:b", { body: null, signal: null, window: null });
    return [r.body, r.signal.aborted, new Request("a:b", null).method];
  `);
  expect(found).toEqual([null, false, "GET"]);
});

test("a body that was read cannot go into another request", async () => {
  const found = await inTool(`
    const r = new Request("a:b", { method: "POST", body: "x" });
    await r.text();
    return [await thrown(() => new Request(r)), new Request(r, { body: "y" }).method];
  `);
  expect(found).toEqual(["TypeError", "POST"]);
});
