import { expect, test } from "vitest";
import { openRealm } from "./in-realm.ts";

const TEXT = { text: "\ufeffé" };
const BYTES = { base64: "77u/w6k=" };

/** Runs a tool whose requests are all answered with this part as the whole body, and gives its output and its asks. */
async function run(body: string, part: object | null = TEXT) {
  const asked: string[] = [];
  const head = {
    url: "https://a.example/",
    status: 200,
    statusText: "",
    headers: [],
    redirected: false,
    opaque: false,
  };
  using realm = await openRealm(`async () => { ${body} }`, {
    host: (method) => {
      asked.push(method);
      return { value: method === "request" ? { ...head, body: { part, more: false } } : null };
    },
  });
  return { output: realm.call(), asked };
}

test.each([
  ["text", TEXT],
  ["bytes", BYTES],
])("a body of %s that comes with its head is the same to every reader", async (_name, part) => {
  const { output, asked } = await run(
    `const get = () => fetch("https://a.example");
    const chunks = [];
    for await (const chunk of (await get()).body) chunks.push(...chunk);
    return [await (await get()).text(), [...await (await get()).bytes()], (await (await get()).arrayBuffer()).byteLength,
      (await (await get()).blob()).size, chunks];`,
    part,
  );
  const bytes = [0xef, 0xbb, 0xbf, 0xc3, 0xa9];
  expect(output).toEqual(["é", bytes, 5, 5, bytes]);
  expect(asked).toEqual(Array(5).fill("request"));
});

test("a body that was read leaves a stream that nobody else can read", async () => {
  const { output } = await run(`
    const r = await fetch("https://a.example");
    const before = r.bodyUsed;
    const text = r.text();
    const used = r.bodyUsed;
    await text;
    return [before, used, r.body === r.body, r.body.locked,
      ...await Promise.all([async () => r.body.getReader(), () => r.json()].map((act) => act().catch((error) => error.name)))];
  `);
  expect(output).toEqual([false, true, true, true, "TypeError", "TypeError"]);
});

test("a body whose stream is locked or read cannot be read otherwise", async () => {
  const { output } = await run(`
    const [locked, read] = [await fetch("https://a.example"), await fetch("https://a.example")];
    locked.body.getReader();
    await read.body.getReader().read();
    return Promise.all([locked, read].map(async (r) => [r.bodyUsed, await r.text().catch((error) => error.name)]));
  `);
  expect(output).toEqual([
    [false, "TypeError"],
    [true, "TypeError"],
  ]);
});

test("a clone reads the body on its own, and none is made of a body that was read", async () => {
  const { output } = await run(
    `
    const r = await fetch("https://a.example");
    const [one, two] = [r.clone(), r.clone()];
    (await one.bytes()).fill(0);
    void two.body.cancel();
    const used = r.bodyUsed;
    const text = await r.text();
    try { r.clone(); } catch (error) { return [used, text, error.name]; }
  `,
    BYTES,
  );
  expect(output).toEqual([false, "é", "TypeError"]);
});

test("a body without content is empty", async () => {
  const { output } = await run(
    `const r = await fetch("https://a.example");
    const c = r.clone();
    return [await r.text(), r.bodyUsed, (await c.body.getReader().read()).done];`,
    null,
  );
  expect(output).toEqual(["", true, true]);
});

test("a signal that aborts after the whole response has come rejects who reads it then", async () => {
  const { output, asked } = await run(`
    const controller = new AbortController();
    const r = await fetch("https://a.example", { signal: controller.signal });
    controller.abort("why");
    return r.text().catch((reason) => reason);
  `);
  expect(output).toBe("why");
  expect(asked).toEqual(["request"]);
});

test("a signal that aborts at once keeps the request from being sent", async () => {
  const { output, asked } = await run(`
    const controller = new AbortController();
    const answer = fetch("https://a.example", { signal: controller.signal });
    controller.abort("why");
    return answer.catch((reason) => reason);
  `);
  expect(output).toBe("why");
  expect(asked).toEqual([]);
});

test("the signals of a request and of its clone are its own, and abort with the one that was given", async () => {
  const { output } = await run(`
    const controller = new AbortController();
    const first = new Request("https://a.example", { signal: controller.signal });
    const copies = [first, first.clone(), new Request(first), new Request(first, { signal: null })];
    const differ = new Set([controller.signal, ...copies.map((copy) => copy.signal)]).size;
    controller.abort("why");
    return [differ, first.signal === first.signal, copies.map((copy) => copy.signal.reason ?? null)];
  `);
  expect(output).toEqual([5, true, ["why", "why", "why", null]]);
});

test("what a tool passes is read as the constructor of Request reads it", async () => {
  const { output } = await run(`
    const seen = async (act) => {
      const names = [];
      const init = new Proxy({}, { get: (_, name) => void names.push(name) });
      await act("https://a.example", init);
      return names.join();
    };
    const refused = (act) => act().then(() => null, (error) => [error.name, error.message]);
    const wrong = [[], [""], ["/a"], ["http://u:p@a.example"], [Symbol()], ["http://a", 1], ["http://a", { signal: {} }],
      ["http://a", { method: "TRACE" }], ["http://a", { body: "x" }]];
    const same = await Promise.all(wrong.map(async (args) => {
      const [left, right] = await Promise.all([refused(async () => new Request(args[0], args[1])), refused(() => fetch(...args))]);
      return left !== null && left.join() === right.join();
    }));
    return [(await seen((...args) => new Request(...args))) === (await seen(fetch)), same];
  `);
  expect(output).toEqual([true, Array(9).fill(true)]);
});
