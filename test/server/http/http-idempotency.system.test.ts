import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { createEngine } from "../../../src/glovebox/index.ts";
import { createServer, type Server } from "../../../src/server/http/server.ts";
import { MAIN } from "../served.ts";
import { temporaryFolder } from "../../kernel/tool/temporary.ts";

const SOURCE = "export default ({ n }) => ({ n, drawn: Math.random() });";

let server: Server;

beforeAll(async () => {
  const engine = await createEngine({ workers: 1, executor: "threads" });
  await engine.register({ name: "draw", description: "Draws a number.", source: SOURCE });
  server = await createServer(engine, { port: 0 });
});

afterAll(() => server.close());

async function draw(url: string, key: string | undefined, options: object = {}, n: unknown = 1) {
  const response = await fetch(`${url}/v1/execute`, {
    method: "POST",
    headers: { "content-type": "application/json", ...(key === undefined ? {} : { "idempotency-key": key }) },
    body: JSON.stringify({ name: "draw", arguments: { n }, options }),
  });
  const { output, error } = (await response.json()) as {
    output: { drawn: number } | null;
    error: { code: string; message: string } | null;
  };
  return {
    status: response.status,
    drawn: output?.drawn,
    error,
    replayed: response.headers.get("idempotency-replayed"),
  };
}

describe("a call with the header Idempotency-Key", () => {
  test("is answered once, and the answer again is marked", async () => {
    const [first, again] = [await draw(server.url, "once"), await draw(server.url, "once")];
    expect(again.drawn).toBe(first.drawn);
    expect([first.replayed, again.replayed]).toEqual([null, "true"]);
  });

  test.each([
    ["in quotes", '"one"', "one"],
    ["with quotes in it", String.raw`"a \"b\" \\"`, String.raw`a "b" \ `.trim()],
    ["with a space in it", '"two words"', "two words"],
  ])("is one with the same key in its options: %s", async (_title, header, idempotencyKey) => {
    const first = await draw(server.url, header);
    const again = await draw(server.url, undefined, { idempotencyKey });
    const both = await draw(server.url, header, { idempotencyKey });
    expect(first.status).toBe(200);
    expect([again.drawn, both.drawn]).toEqual([first.drawn, first.drawn]);
  });

  test.each([
    ["another key in its options", "one", { idempotencyKey: "other" }],
    ["no key in it", "", {}],
    ["two keys in it", "a, b", {}],
    ["quotes that do not end", '"a', {}],
    ["an empty key", '""', {}],
    ["a key that is too long", "k".repeat(257), {}],
  ])("is refused with %s", async (_title, header, options) => {
    expect(await draw(server.url, header, options)).toMatchObject({
      status: 400,
      error: { code: "invalid_arguments" },
    });
  });

  test("is refused where it asks for something else", async () => {
    await draw(server.url, "mistake");
    expect((await draw(server.url, "mistake", {}, 2)).status).toBe(400);
  });
});

describe("the service", () => {
  /** A server in a process of its own, in a folder of its own. */
  async function serve(folder: string) {
    const args = [...MAIN, "serve", "--port", "0", "--tools", "tools"];
    const child = spawn(process.execPath, [...args, "--executor", "threads"], {
      cwd: folder,
      stdio: ["ignore", "pipe", "ignore"],
    });
    const ended = once(child, "close");
    const kill = async () => {
      child.kill("SIGKILL");
      await ended;
    };
    onTestFinished(kill);
    for await (const line of createInterface({ input: child.stdout })) {
      const url = /listening on (\S+)/.exec(line)?.[1];
      if (url !== undefined) return { url, kill };
    }
    throw new Error("the server has ended");
  }

  test("gives the same answer after it was killed, and makes no file before the first key", async () => {
    const folder = await temporaryFolder();
    const { mkdir } = await import("node:fs/promises");
    await mkdir(join(folder, "tools"));
    await writeFile(
      join(folder, "tools", "draw.js"),
      `export const spec = { name: "draw", description: "Draws a number." };\n${SOURCE}\n`,
    );
    const store = join(folder, ".glovebox", "calls.sqlite");
    const first = await serve(folder);
    await draw(first.url, undefined);
    expect(existsSync(store)).toBe(false);
    const answer = await draw(first.url, "kept");
    expect(answer.status).toBe(200);
    await first.kill();
    const second = await serve(folder);
    expect(await draw(second.url, "kept")).toEqual({ ...answer, replayed: "true" });
    expect((await draw(second.url, "other")).drawn).not.toBe(answer.drawn);
    // As if the file before this one had been damaged.
    await writeFile(`${store}.corrupt`, "");
    const readiness = await fetch(`${second.url}/readyz`);
    expect(readiness.status).toBe(200);
    expect(await readiness.json()).toMatchObject({ idempotency: { problem: expect.stringContaining("damaged") } });
  });
});
