import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import { expect, test } from "vitest";
import { openRealm } from "./in-realm.ts";

/** Runs a body in a realm; chunks of the input are texts, or lists of bytes. */
async function answerOf(body: string, chunks: readonly (string | readonly number[])[] = []): Promise<unknown> {
  using realm = await openRealm(
    `async (chunks) => {
      const readline = __node.require("readline"), { Readable } = __node.require("stream"), { EventEmitter } = __node.require("events");
      const input = Readable.from(chunks.map((chunk) => typeof chunk === "string" ? chunk : __node.Buffer.from(chunk)));
      ${body}
    }`,
  );
  return realm.call(chunks);
}

const LINES = `const lines = []; for await (const line of readline.createInterface({ input, crlfDelay: Infinity })) lines.push(line); return lines;`;

const INPUTS = [
  ["whole", ["a\nb\n\nc"]],
  ["with an end at the end", ["a\nb\n"]],
  ["with all kinds of ends", ["a\r\nb\rc\u2028d\u2029e"]],
  ["with an end in two chunks", ["a\r", "\nb\r", "c", "d\r", "\n"]],
  ["in parts", ["a", "b\nc", "", "d\n", "e"]],
  ["in bytes that end within a character", [[0x61, 0xe2, 0x82], [0xac, 0x0a, 0xc3], [0xa4]]],
  ["empty", []],
] as const;

test.each(INPUTS)("A stream's lines are those that Node reads: %s", async (_what, chunks) => {
  const input = Readable.from(chunks.map((chunk) => (typeof chunk === "string" ? chunk : Buffer.from(chunk))));
  const expected: string[] = [];
  for await (const line of createInterface({ input, crlfDelay: Infinity })) expected.push(line);
  expect(await answerOf(LINES, chunks)).toEqual(expected);
});

test("An interface tells of each line, and of its end", async () => {
  const body = `const heard = [];
    const lines = readline.createInterface(input);
    lines.on("line", (line) => heard.push(line));
    await new Promise((done) => lines.on("close", done));
    return [heard, lines.closed, lines instanceof readline.Interface, lines instanceof EventEmitter];`;
  expect(await answerOf(body, ["a\nb"])).toEqual([["a", "b"], true, true, true]);
});

test("An interface is closed, and its input rests, where its lines are left", async () => {
  const body = `const lines = readline.promises.createInterface({ input });
    for await (const line of lines) { if (line === "a") break; }
    return [lines.closed, input.isPaused(), input.listenerCount("data")];`;
  expect(await answerOf(body, ["a\n", "b\n"])).toEqual([true, true, 0]);
});

test("What goes wrong with the input goes wrong with its lines", async () => {
  const body = `const failing = new Readable({ read() { this.destroy(new Error("broken")); } });
    try { for await (const line of readline.createInterface({ input: failing })); } catch (error) { return error.message; }`;
  expect(await answerOf(body)).toBe("broken");
});

test("The body of an answer is read by its lines as well", async () => {
  const body = `const lines = [], body = Readable.fromWeb(new Response("a\\nb").body);
    for await (const line of readline.createInterface({ input: body })) lines.push(line);
    return lines;`;
  expect(await answerOf(body)).toEqual(["a", "b"]);
});

test("A terminal does not exist, nor its answers, which is told with what there is instead", async () => {
  const body = `const told = (act) => { try { act(); } catch (error) { return error.message; } };
    return [told(() => readline.createInterface({})), told(() => readline.createInterface({ input }).question("a", () => {}))];`;
  const said = expect.stringMatching(
    /does not exist inside an isolate: a tool has no terminal; .* a stream as its input/,
  );
  expect(await answerOf(body)).toEqual([said, said]);
});
