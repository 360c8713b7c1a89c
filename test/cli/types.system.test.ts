import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Compiler } from "../kernel/tool/declarations/compiler.ts";
import { createEngine } from "../../src/glovebox/index.ts";
import { createKey } from "../../src/server/access/secret.ts";
import { createServer as createGlovebox } from "../../src/server/http/server.ts";
import { type Ended, glovebox, ROOT } from "./command.ts";

let folder = "";
let compiler: Compiler;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "glovebox-types-"));
  compiler = new Compiler();
});

afterAll(() => {
  compiler[Symbol.dispose]();
  rmSync(folder, { recursive: true });
});

const types = (args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Ended> =>
  glovebox(ROOT, ["types", ...args], env);

function toolFile(type: string): string {
  const path = join(folder, "one.js");
  const spec = { name: "one", description: "Is one.", inputSchema: { type: "object", properties: { a: { type } } } };
  writeFileSync(path, `export const spec = ${JSON.stringify(spec)};\nexport default () => 1;\n`);
  return path;
}

test("a folder of tools has declarations that compile and know its tools", async () => {
  const { code, stdout } = await types(["--tools", "fixtures/tools", "--register"]);
  expect(code).toBe(0);
  const uses = `
import type { Register } from "glovebox";
type In<Name extends keyof Tools> = Tools[Name]["input"];
export const slug: In<"slugify"> = { text: "a" };
export const sum: number = ({} as Register["tools"]["add"]["output"]).sum;
// @ts-expect-error The text is missing.
export const wrong: In<"slugify"> = {};
// @ts-expect-error There is no such separator.
export const other: In<"slugify"> = { text: "a", separator: "+" };
`;
  expect(compiler.errorsOf(`${stdout}\n${uses}`)).toEqual([]);
});

test("a file is the same when it is written again, and stale once a schema has changed", async () => {
  const out = join(folder, "tools.d.ts");
  const args = [toolFile("string"), "--out", out];
  expect(await types([...args, "--check"])).toMatchObject({
    code: 5,
    stderr: `glovebox: ${out} does not exist: run the command without --check\n`,
  });
  expect(await types(args)).toMatchObject({ code: 0, stdout: `${out}: 1 tool\n` });
  const text = readFileSync(out, "utf8");
  await types(args);
  expect(readFileSync(out, "utf8")).toBe(text);
  expect(await types([...args, "--check"])).toMatchObject({ code: 0, stdout: `${out} is up to date\n` });
  writeFileSync(out, text.replaceAll("\n", "\r\n"));
  expect((await types([...args, "--check"])).code).toBe(0);
  toolFile("number");
  expect((await types([...args, "--check"])).code).toBe(5);
  expect(readFileSync(out, "utf8").replaceAll("\r\n", "\n")).toBe(text);
}, 300_000);

test("a file that cannot be written is named, with the reason", async () => {
  const { code, stderr } = await glovebox(ROOT, ["types", "fixtures/tools/slugify", "--out", "nowhere/tools.d.ts"]);
  const reason = "--out cannot write nowhere/tools.d.ts: ENOENT; make its folder, or name another file";
  expect([code, stderr]).toEqual([2, `glovebox: ${reason}\n`]);
});

test("a server's tools are declared as the server itself does", async () => {
  const { secret, hash } = createKey();
  await using engine = await createEngine({ workers: 1, executor: "threads", tools: [toolFile("string")] });
  await using server = await createGlovebox(engine, {
    port: 0,
    drainMs: 0,
    keys: [{ name: "k", hash, tenant: null, roles: ["execute"] }],
  });
  const args = ["--url", server.url, "--key-env", "TYPES_KEY"];
  expect(await types(args, { TYPES_KEY: secret })).toEqual({ code: 0, stdout: engine.types(), stderr: "" });
  const refused = await types(["--url", server.url]);
  expect(refused.code).toBe(4);
  expect(refused.stderr).toContain("answers with 401: it wants a key with the role execute");
});

test("nothing of what a hostile server says is read as code", async () => {
  const hostile = { name: '"]: never }', description: "*/ declare global { var x: 1 } /*", inputSchema: "*/ 1" };
  let answer: unknown = [hostile];
  const server = createServer((_request, response) => response.end(JSON.stringify(answer)));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  try {
    const { stdout } = await types(["--url", url]);
    expect(compiler.compile({ "a.ts": stdout }).get("a.ts")).toEqual({
      errors: [],
      statements: [{ kind: "InterfaceDeclaration", name: "Tools", members: [hostile.name] }],
    });
    answer = [{ name: 1 }];
    expect(await types(["--url", url])).toMatchObject({
      code: 1,
      stderr: "glovebox: the server's answer is no list of tools\n",
    });
  } finally {
    server.close();
  }
});

test.each([
  [["--check"], "--check compares the file of --out FILE"],
  [["--key-env", "A"], "--key-env goes with --url"],
  [["--tools", "a", "--url", "http://a"], "of a folder or of the server at --url"],
  [["a", "--url", "http://a"], "of a folder or of the server at --url"],
  [["a", "--tools", "b"], "two folders of tools, a and that of --tools"],
  [["--url", "ftp://a"], "--url is an address that begins with http:// or https://"],
])("the options %j are a mistake", async (args, message) => {
  const { code, stderr } = await types(args);
  expect(code).toBe(2);
  expect(stderr).toContain(message);
});

test("--tokens prints what models read of the tools in code mode, within so many tokens", async () => {
  const few = await types(["--tools", "fixtures/tools", "--tokens", "200"]);
  const all = await types(["--tools", "fixtures/tools", "--tokens", "100000"]);
  expect([few.code, all.code]).toEqual([0, 0]);
  expect(few.stdout.length).toBeLessThanOrEqual(200 * 4 + 1_200);
  expect(few.stdout).toMatch(/^\d+ of \d+ tools are declared below\. search_tools finds the others\.\n/);
  expect(all.stdout).toMatch(/^All \d+ tools are declared below\.\n/);
  expect(all.stdout).toContain("declare const tools: {\n");
  expect(all.stdout).toMatch(/^ {2}slugify\(input: \{/m);
});

test("--tokens takes the tools of code mode alone, and those first that are pinned", async () => {
  const config = join(folder, "code.json");
  writeFileSync(config, JSON.stringify({ codeMode: { tools: ["a*", "slugify"], pinned: ["slugify"] } }));
  const { code, stdout } = await types(["--config", config, "--tools", "fixtures/tools", "--tokens", "150"]);
  expect(code).toBe(0);
  expect(stdout).toContain("slugify(input: {");
  expect(stdout).not.toMatch(/^ {2}(?!a|slugify)\w+\(input/m);
});

test.each([
  [["--tokens", "10"], "--tokens"],
  [["--tokens", "many"], "--tokens"],
  [["--tokens", "1000", "--register"], "cannot be used with option"],
])("%j is refused", async (args, said) => {
  const { code, stderr } = await types(["--tools", "fixtures/tools", ...args]);
  expect(code).toBe(2);
  expect(stderr).toContain(said);
});
