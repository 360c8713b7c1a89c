import { describe, expect, test } from "vitest";
import { type FakeHost, type HostAnswer, openRealm } from "./in-realm.ts";

interface Asked {
  readonly id: number;
  readonly url?: string;
  readonly protocols?: readonly string[];
  readonly data?: { readonly text?: string; readonly base64?: string };
  readonly code?: number;
  readonly reason?: string;
}

const CLOSED = { closed: { code: 4_000, reason: "bye", wasClean: true } };

/** A host whose server sends these messages, and what the guest asked of it. */
function server(
  messages: readonly object[] = [],
  {
    connect = { value: { protocol: "", extensions: "" } },
    send = { value: null },
  }: {
    readonly connect?: HostAnswer;
    readonly send?: HostAnswer;
  } = {},
): { readonly host: FakeHost; readonly asked: [method: string, args: Asked][] } {
  const asked: [string, Asked][] = [];
  const left = [...messages];
  return {
    asked,
    host: (method, args) => {
      asked.push([method, args]);
      if (method === "connect") return connect;
      if (method === "send") return send;
      if (method === "close") return { value: null };
      const value = left.shift();
      return value === undefined ? undefined : { value };
    },
  };
}

/** Runs the body of an async function with `WebSocket`, and gives what it returns. */
async function run(body: string, { host }: { readonly host: FakeHost }, options = {}): Promise<unknown> {
  const before = `
    const seen = [];
    const note = (ws) => { for (const type of ["open", "message", "error", "close"]) ws.addEventListener(type, (event) => seen.push(
      type === "message" ? [type, event.data] : type === "close" ? [type, event.code, event.reason, event.wasClean] : type === "error" ? [type, event.message] : [type])); };
    const ended = (ws) => new Promise((resolve) => ws.addEventListener("close", resolve));
    const thrown = (act) => { try { act(); return "nothing"; } catch (error) { return error.name; } };`;
  using realm = await openRealm(`async () => { const WebSocket = __node.WebSocket; ${body} }`, {
    host,
    before,
    ...options,
  });
  return realm.call();
}

describe("a WebSocket", () => {
  test("opens, gives its messages one after the other, and closes", async () => {
    const messages = [{ text: "a" }, { base64: "AQI=" }, { text: "" }, CLOSED];
    const body = `
      const ws = new WebSocket("wss://a.b/c?d", ["x", "y"]);
      ws.binaryType = "arraybuffer";
      note(ws);
      const states = [ws.readyState];
      ws.onopen = () => states.push(ws.readyState);
      await ended(ws);
      states.push(ws.readyState);
      seen[2][1] = [...new Uint8Array(seen[2][1])];
      return { seen, states, url: ws.url };`;
    const world = server(messages);
    expect(await run(body, world)).toEqual({
      seen: [["open"], ["message", "a"], ["message", [1, 2]], ["message", ""], ["close", 4_000, "bye", true]],
      states: [0, 1, 3],
      url: "wss://a.b/c?d",
    });
    expect(world.asked[0]).toEqual(["connect", { id: 1, url: "wss://a.b/c?d", protocols: ["x", "y"] }]);
  });

  test("gives what listeners of one message await time before the next", async () => {
    const body = `
      const ws = new WebSocket("ws://a.b");
      const next = () => new Promise((resolve) => ws.addEventListener("message", (event) => resolve(event.data), { once: true }));
      const got = [];
      for (let at = 0; at < 3; at++) { got.push(await next()); await null; await null; await null; }
      return got;`;
    expect(await run(body, server([{ text: "a" }, { text: "b" }, { text: "c" }]))).toEqual(["a", "b", "c"]);
  });

  test("sends text, buffers, views and blobs in the order of the calls", async () => {
    const body = `
      const ws = new WebSocket("ws://a.b");
      await new Promise((resolve) => { ws.onopen = resolve; });
      ws.send("\\ud800é");
      ws.send(new Uint8Array([0, 1, 2, 3]).subarray(1, 3));
      ws.send(new Blob(["blob"]));
      ws.send(new Uint8Array([9]).buffer);
      ws.send(7);
      const buffered = ws.bufferedAmount;
      ws.close(3000, "é");
      await new Promise((resolve) => setTimeout(resolve, 5));
      return [buffered, ws.bufferedAmount, ws.readyState];`;
    const world = server();
    expect(await run(body, world)).toEqual([13, 0, 2]);
    const sent = world.asked
      .filter(([method]) => method !== "receive")
      .map(([method, { data, code, reason }]) => [method, data ?? code, reason]);
    expect(sent.slice(1)).toEqual([
      ["send", { text: "\ufffdé" }, undefined],
      ["send", { base64: "AQI=" }, undefined],
      ["send", { base64: "YmxvYg==" }, undefined],
      ["send", { base64: "CQ==" }, undefined],
      ["send", { text: "7" }, undefined],
      ["close", 3_000, "é"],
    ]);
  });

  test("that is refused says so in its events and in the log", async () => {
    const connect = { code: "capability_denied", message: "GET https://a.b was not granted" };
    const body = `const ws = new WebSocket("wss://a.b"); note(ws); await ended(ws); ws.send("x"); return [seen, ws.readyState];`;
    const seen = [
      ["error", connect.message],
      ["close", 1_006, connect.message, false],
    ];
    expect(await run(body, server([], { connect }))).toEqual([seen, 3]);
  });

  test("gives the refusal's code to a call that fails with the error of its event", async () => {
    const connect = { code: "capability_denied", message: "no" };
    const body = `const ws = new WebSocket("wss://a.b"); await new Promise((_, fail) => { ws.onerror = ({ error }) => fail(error); });`;
    await expect(run(body, server([], { connect }))).rejects.toThrow('"code":"capability_denied"');
  });

  test("ends with an error where the connection is lost or a message cannot be sent", async () => {
    const body = `const ws = new WebSocket("ws://a.b"); note(ws); ws.onopen = () => ws.send("x"); await ended(ws); return seen.map(([type, what]) => [type, what]);`;
    const lost = { closed: { code: 1_006, reason: "", wasClean: false } };
    const error = ["error", expect.stringContaining("the connection was lost")];
    expect(await run(body, server([lost]))).toEqual([["open", null], error, ["close", 1_006]]);
    const send = { code: "capability_limit", message: "too much" };
    const world = server([], { send });
    expect(await run(body, world)).toEqual([
      ["open", null],
      ["error", "too much"],
      ["close", 1_006],
    ]);
    expect(world.asked.at(-1)).toEqual(["close", { id: 1, reason: "" }]);
  });

  test("that is closed while it connects never opens", async () => {
    const connect = { code: "capability_failed", message: "it was closed before it opened" };
    const body = `const ws = new WebSocket("ws://a.b"); note(ws); ws.close(); ws.close(); await ended(ws); return seen.map(([type]) => type);`;
    const world = server([], { connect });
    expect(await run(body, world)).toEqual(["error", "close"]);
    expect(world.asked.map(([method]) => method)).toEqual(["connect", "close"]);
  });

  test("drops what comes after its close was asked for", async () => {
    const body = `const ws = new WebSocket("ws://a.b"); note(ws); ws.onmessage = () => ws.close(); await ended(ws); return seen.map(([type]) => type);`;
    expect(await run(body, server([{ text: "a" }, { text: "b" }, CLOSED]))).toEqual(["open", "message", "close"]);
  });

  test("is made of a URL of the web and of protocols that are tokens", async () => {
    const body = `return [
      ["not a url"], ["ftp://a.b"], ["wss://a.b/#c"], ["wss://a.b", "a b"], ["wss://a.b", ["a", "A"]], ["wss://a.b", ""], [],
    ].map((args) => thrown(() => new WebSocket(...args))).concat(new WebSocket("https://a.b").url, new WebSocket(new URL("http://a.b/x")).url)`;
    const refused = [...Array.from({ length: 6 }, () => "SyntaxError"), "TypeError"];
    expect(await run(body, server())).toEqual([...refused, "wss://a.b/", "ws://a.b/x"]);
  });

  test("checks what it is closed with, and sends nothing before it is open", async () => {
    const body = `const ws = new WebSocket("ws://a.b");
      return [() => ws.close(1001), () => ws.close(5000), () => ws.close(3000, "é".repeat(62)), () => ws.send("x")].map(thrown);`;
    const names = ["InvalidAccessError", "InvalidAccessError", "SyntaxError", "InvalidStateError"];
    expect(await run(body, server())).toEqual(names);
  });

  test("looks like the web's", async () => {
    const body = `const ws = new WebSocket("ws://a.b");
      const handler = () => {};
      ws.onmessage = handler;
      ws.binaryType = "nonsense";
      return [WebSocket.OPEN, ws.CLOSING, String(ws), WebSocket.name, ws instanceof EventTarget, ws.binaryType, ws.extensions,
        ws.onmessage === handler, ws.onerror, "onclose" in WebSocket.prototype, Object.keys(WebSocket).join()];`;
    const statics = "CONNECTING,OPEN,CLOSING,CLOSED";
    expect(await run(body, server())).toEqual([
      1,
      2,
      "[object WebSocket]",
      "WebSocket",
      true,
      "blob",
      "",
      true,
      null,
      true,
      statics,
    ]);
  });

  test.for(["WebSocket", "EventSource"])(
    "of a tool without fetch: the constructor of %s names the grant",
    async (name) => {
      const body = `new __node.${name}("https://a.b:444/c")`;
      const refused = run(body, server(), { lacksFetch: true });
      await expect(refused).rejects.toThrow('"code":"capability_denied"');
      await expect(refused).rejects.toThrow(
        `${name} needs the capability \\"fetch\\", which the tool does not ask for; to grant it, add { \\"fetch\\": { \\"origins\\": [\\"https://a.b:444\\"] } }`,
      );
    },
  );
});
