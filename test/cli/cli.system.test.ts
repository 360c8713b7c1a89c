import { type ChildProcess, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { readYaml } from "../../src/kernel/base/yaml-text.ts";
import type { ToolInfo, ToolResult } from "../../src/glovebox/index.ts";
import { DEAR, jsonOf, unchanged } from "../long-integers.ts";
import { MAIN, noticeOf, noticesOf, ROOT } from "../server/served.ts";
import { type Ended, glovebox as here } from "./command.ts";

const SLEEP = `
export const spec = { name: "sleep", description: "Answers after a while." };
export default async ({ ms }) => {
  await new Promise((resolve) => setTimeout(resolve, ms));
  return { slept: ms };
};
`;

/** Starts the command in a process group of its own, as a terminal does. */
function start(args: readonly string[]): ChildProcess {
  return spawn(process.execPath, [...MAIN, ...args], { cwd: ROOT, stdio: "pipe", detached: true });
}

/** Runs the command in this process, which needs a third of the time: what depends on its process has `asProcess`. */
const glovebox = (args: readonly string[], cwd = ROOT): Promise<Ended> => here(cwd, args);

/** Runs the command to its end, as a process. */
async function asProcess(args: readonly string[], stdin = ""): Promise<Omit<Ended, "code"> & { code: number | null }> {
  const child = start(args);
  child.stdin?.end(stdin);
  const output = (stream: "stdout" | "stderr") => {
    const readable = child[stream];
    return readable === null ? Promise.resolve("") : text(readable);
  };
  const [[code], stdout, stderr] = await Promise.all([
    once(child, "close") as Promise<[number | null]>,
    output("stdout"),
    output("stderr"),
  ]);
  return { code, stdout, stderr: noticesOf(stderr) };
}

interface Serving extends AsyncDisposable {
  readonly url: string;
  readonly pid: number;
  /** Everything on stdout and stderr so far. */
  readonly lines: readonly string[];
  readonly errors: readonly string[];
  readonly exit: Promise<number | null>;
  signal(signal: NodeJS.Signals): void;
}

/** Starts a server and waits for the line that says it is ready. */
async function serve(...args: string[]): Promise<Serving> {
  const child = start(["serve", "--port", "0", ...args]);
  const exit = once(child, "exit").then(([code]) => code as number | null);
  const lines: string[] = [];
  const errors: string[] = [];
  if (child.stderr !== null) createInterface({ input: child.stderr }).on("line", (line) => errors.push(noticeOf(line)));
  const ready = new Promise<string>((resolve, reject) => {
    if (child.stdout === null) return reject(new Error("there is no stdout"));
    createInterface({ input: child.stdout }).on("line", (line) => {
      lines.push(line);
      resolve(line);
    });
    void exit.then((code) => reject(new Error(`ended with ${code}: ${errors.join("\n")}`)));
  });
  const url = /^glovebox listening on (http:\S+)$/.exec(await ready)?.[1] ?? "";
  const end = async (): Promise<void> => {
    child.kill("SIGKILL");
    await exit;
  };
  const signal = (name: NodeJS.Signals) => void child.kill(name);
  return { url, pid: child.pid ?? 0, lines, errors, exit, signal, [Symbol.asyncDispose]: end };
}

async function execute(url: string, name: string, args: unknown): Promise<ToolResult> {
  const response = await fetch(`${url}/v1/execute`, {
    method: "POST",
    body: JSON.stringify({ name, arguments: args }),
    headers: { "content-type": "application/json" },
  });
  return (await response.json()) as ToolResult;
}

/** Waits until so many calls are in flight, as the server's metrics tell. */
async function callsInFlight(url: string, count: number): Promise<void> {
  const line = new RegExp(`^glovebox_calls_in_flight ${count}$`, "m");
  for (;;) {
    const response = await fetch(`${url}/metrics`);
    if (line.test(await response.text())) return;
  }
}

/** The state letter of a process and its parent's id; nothing where there is no such process, or no `/proc`. */
function processAt(pid: number | string): { readonly state: string; readonly parent: number } | undefined {
  try {
    const status = readFileSync(`/proc/${pid}/status`, "utf8");
    const state = /^State:\s+(\S)/m.exec(status)?.[1] ?? "";
    return { state, parent: Number(/^PPid:\s+(\d+)/m.exec(status)?.[1]) };
  } catch {
    return undefined;
  }
}

function childrenOf(pid: number): number[] {
  const all = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return all.filter((name) => processAt(name)?.parent === pid).map(Number);
}

/** Waits until these processes are gone: they end by themselves, a moment after their parent. */
async function gone(pids: readonly number[]): Promise<void> {
  const isAlive = (pid: number): boolean => ![undefined, "Z", "X"].includes(processAt(pid)?.state);
  while (pids.some(isAlive)) await new Promise((resolve) => setTimeout(resolve, 10));
}

describe("glovebox", () => {
  test.each([["--help"], ["serve", "--help"], ["run", "--help"], ["list", "--help"]])(
    "explains itself on stdout: %s %s",
    async (...args) => {
      const { code, stdout, stderr } = await glovebox(args.filter((arg) => arg !== undefined));
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      expect(stdout).toMatch(/^Usage: glovebox/);
    },
  );

  test("tells its version", async () => {
    const manifest = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { version: string };
    expect(await asProcess(["--version"])).toEqual({ code: 0, stdout: `${manifest.version}\n`, stderr: "" });
  });

  test.each([
    ["no command", []],
    ["a command that there is not", ["walk"]],
    ["an option that there is not", ["list", "--fast"]],
    ["a port that is invalid", ["serve", "--port", "80800"]],
    ["a number of workers that is invalid", ["serve", "--workers", "2.5"]],
    ["an executor that there is not", ["serve", "--executor", "cloud"]],
  ])("ends with 2 and help on stderr for %s", async (_, args) => {
    const { code, stdout, stderr } = await glovebox(args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(/--help|Usage:/);
  });
});

describe("glovebox list", () => {
  test("names the sample tools in lines", async () => {
    const { code, stdout, stderr } = await glovebox(["list"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/^add +1\.0\.0 +Adds two numbers\.$/m);
  });

  test("tells all about the tools of a folder as JSON", async () => {
    const { code, stdout } = await glovebox(["list", "fixtures/tools/slugify", "--json"]);
    expect(code).toBe(0);
    expect((JSON.parse(stdout) as ToolInfo[]).map(({ name, isolation }) => [name, isolation])).toEqual([
      ["slugify", "instance"],
    ]);
  });

  test("ends with 3 where a tool cannot be registered, and says why", async () => {
    const { code, stderr } = await glovebox(["list", "--tools", "fixtures/broken/no-default.js"]);
    expect(code).toBe(3);
    expect(stderr).toMatch(/^glovebox: tool "no-default" must export default a function/);
  });
});

describe("glovebox run", () => {
  test("says on stderr how far the call has come", async () => {
    const ended = await glovebox(["run", "countdown", "--input", '{"from":2,"stepMs":60}']);
    expect(ended.code).toBe(0);
    expect(JSON.parse(ended.stdout)).toEqual({ steps: 2 });
    expect(ended.stderr).toMatch(/^\[0 of 2\] 2 …\n/);
    expect(ended.stderr).toMatch(/^\[2 of 2\] liftoff$/m);
  });

  test("prints the output of a sample tool, which may use the samples' capability", async () => {
    const input = '{"amount":2,"from":"EUR","to":"USD"}';
    const { code, stdout, stderr } = await glovebox(["run", "convert-currency", "--input", input]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(JSON.parse(stdout)).toMatchObject({ amount: 2.5 });
  });

  test("reads the input from stdin, and writes the tool's console to stderr", async () => {
    const ended = await asProcess(["run", "csv-to-json", "--input", "-"], '{"csv":"a,b\\n1,2"}');
    expect(ended).toEqual({ code: 0, stdout: '{"rows":[{"a":"1","b":"2"}]}\n', stderr: "[info] read 1 records\n" });
  });

  test("runs a module by its path, and prints the whole result where it is asked to", async () => {
    const path = "fixtures/tools/slugify/index.ts";
    const { code, stdout } = await glovebox(["run", path, "--input", '{"text":"A b"}', "--result"]);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ success: true, output: { slug: "a-b" }, error: null });
  });

  test("takes a file that is there for a module, and no input for no arguments", async () => {
    const folder = mkdtempSync(join(tmpdir(), "glovebox-here-"));
    const spec = '{ name: "greet", description: "Greets." }';
    writeFileSync(
      join(folder, "hello.ts"),
      `export const spec = ${spec};\nexport default (input) => ({ hello: input });`,
    );
    try {
      const ended = await glovebox(["run", "hello.ts"], folder);
      expect(ended).toMatchObject({ code: 0, stdout: '{"hello":{}}\n' });
      expect(await glovebox(["run", "greet", "--tools", "."], folder)).toEqual(ended);
      expect((await glovebox(["run", "nothing.py"], folder)).stderr).toMatch(/nothing\.py.* does not exist/);
      mkdirSync(join(folder, "sized"));
      writeFileSync(
        join(folder, "sized", "index.cts"),
        "exports.spec = {description: 'Sizes.'};exports.default = () => 1;",
      );
      expect(await glovebox(["run", "sized"], folder)).toMatchObject({ code: 0, stdout: "1\n" });
      expect((await glovebox(["run", "hello"], folder)).stderr).toContain("write ./hello.ts for the one that is here");
      writeFileSync(join(folder, "notes.md"), "# Notes");
      expect((await glovebox(["run", "notes.md"], folder)).stderr).toContain("notes.md is not a module");
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test("says where an input is not JSON, and how to write it", async () => {
    const { code, stderr } = await glovebox(["run", "add", "--input", '{"a":1,}']);
    expect(code).toBe(3);
    expect(stderr).toMatch(/^glovebox: the input is not JSON: .*\(line 1 column 8\); write an object such as/);
    expect((await asProcess(["run", "add", "--input", "-"])).stderr).toContain("the input is not JSON: it is empty");
  });

  test("takes the input after the tool as well, but not twice", async () => {
    expect(await glovebox(["run", "add", '{"a":1,"b":2}'])).toEqual(
      await glovebox(["run", "add", "--input", '{"a":1,"b":2}']),
    );
    expect(await glovebox(["run", "add", "{}", "--input", "{}"])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("given twice"),
    });
  });

  test("lists each problem of a module that does not load", async () => {
    const folder = mkdtempSync(join(tmpdir(), "glovebox-problems-"));
    try {
      writeFileSync(join(folder, "t.js"), "import './a.js';\nimport './b.js';\nexport default () => 1;\n");
      const { code, stderr } = await glovebox(["run", "t.js"], folder);
      expect([code, stderr.split("\n")]).toEqual([
        3,
        [
          expect.stringMatching(/imports "\.\/a\.js" at t\.js:1, .*\(and 1 more\)$/),
          expect.stringMatching(/^and: imports "\.\/b\.js" at t\.js:2, /),
          "what to do: glovebox docs load_error",
          "",
        ],
      ]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test("reads an input behind a byte-order mark, as shells of Windows send it", async () => {
    const ended = await asProcess(["run", "add", "--input", "-"], '\ufeff{"a":1,\r\n"b":2}\r\n');
    expect(ended).toEqual({ code: 0, stdout: '{"sum":3}\n', stderr: "" });
  });

  test("names the tool that a misspelt name may mean", async () => {
    expect((await glovebox(["run", "slugfy"])).stderr).toMatch(
      /^glovebox: there is no tool "slugfy" .*; is slugify meant\?\n$/,
    );
  });

  test("makes no call whose recording could not be written", async () => {
    const input = ["--input", '{"csv":"a,b\\n1,2"}'];
    const ended = await glovebox(["run", "csv-to-json", ...input, "--record", "nowhere/call.json"]);
    // The tool's console would be on stderr, too.
    expect(ended).toEqual({
      code: 2,
      stdout: "",
      stderr: "glovebox: --record cannot write nowhere/call.json: ENOENT; make its folder, or name another file\n",
    });
  });

  test("prints integers of any length as they were given, as an argument and on stdin", async () => {
    const folder = mkdtempSync(join(tmpdir(), "glovebox-integers-"));
    const file = join(folder, "echo.js");
    const spec = '{ name: "echo", description: "Gives its input back." }';
    writeFileSync(file, `export const spec = ${spec};\nexport default (input) => input;`);
    try {
      await unchanged(async (ids) => {
        const json = jsonOf(ids);
        const ended = await Promise.all([
          glovebox(["run", file, "--input", json]),
          asProcess(["run", file, "--input", "-", "--result"], json),
        ]);
        expect(ended.map(({ stdout }) => stdout)).toEqual([`${json}\n`, expect.stringContaining(`"output":${json}`)]);
      }, DEAR)();
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test("runs a module of defineTool in a folder without packages", async () => {
    const folder = mkdtempSync(join(tmpdir(), "glovebox-defined-"));
    const text =
      'import { defineTool } from "glovebox/tool";\n' +
      'export default defineTool({ name: "greet", description: "Greets somebody by name.", inputSchema: { type: "object", properties: { name: { type: "string" } }, required: ["name"] }, run: ({ name }) => `Hello, ${name}!` });';
    writeFileSync(join(folder, "greet.ts"), text);
    try {
      const ran = await glovebox(["run", join(folder, "greet.ts"), "--input", '{"name":"Ada"}']);
      expect(ran).toMatchObject({ code: 0, stdout: '"Hello, Ada!"\n' });
      const validated = await glovebox(["validate", join(folder, "greet.ts")]);
      expect(validated.code).toBe(0);
      expect(validated.stdout).toMatch(/^pass +greet +bundle: of calls has \d+ of \d+ bytes$/m);
      expect(validated.stdout).toMatch(/^info +greet +output-unchecked:/m);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  test("takes a file of each language by its name alone", async () => {
    const folder = mkdtempSync(join(tmpdir(), "glovebox-named-"));
    const module =
      'export const spec = { name: "greet", description: "Greets." }; export default (): string => "Hello";';
    const common = 'exports.spec = { name: "greet", description: "Greets." }; exports.run = () => "Hello";';
    try {
      for (const [file, text] of [
        ["greet.mts", module],
        ["greet.cts", common],
        ["greet.cjs", common],
      ] as const) {
        writeFileSync(join(folder, file), text);
        expect(await glovebox(["run", file], folder), file).toMatchObject({ code: 0, stdout: '"Hello"\n' });
      }
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test("does not give a module the samples' capability", async () => {
    const input = '{"amount":2,"from":"EUR","to":"USD"}';
    const { code, stderr } = await glovebox(["run", "fixtures/tools/convert-currency.ts", "--input", input]);
    expect(code).toBe(1);
    expect(stderr).toContain("capability_denied");
  });

  test("tells of a refused call as ever where it was to be recorded, and writes no recording", async () => {
    const folder = mkdtempSync(join(tmpdir(), "glovebox-record-"));
    try {
      const ended = await glovebox(["run", "add", "--input", '{"a":1}', "--record", join(folder, "add.json")]);
      expect(ended).toMatchObject({ code: 3, stdout: "" });
      expect(ended.stderr).toMatch(/^glovebox: invalid_arguments: .+\nwhat to do: glovebox docs invalid_arguments\n$/);
      expect(readdirSync(folder)).toEqual([]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test("ends with 1 where the tool fails, and sends no control characters to the terminal", async () => {
    const code = "throw new RangeError('\\u001b[31mred\\u009b')";
    const ended = await asProcess(["run", "run-script", "--input", JSON.stringify({ code })]);
    expect(ended).toMatchObject({ code: 1, stdout: "" });
    const [first, todo, ...others] = ended.stderr.trimEnd().split("\n");
    expect(first).toBe("glovebox: tool_error: RangeError: \\u001b[31mred\\u009b");
    expect(todo).toBe("what to do: glovebox docs tool_error");
    // The line of the sample that runs the code.
    if (others.length > 0)
      expect(others.join("\n")).toMatch(/^  at fixtures\/tools\/run-script\.ts:\d+:\d+\n  \d+ \| .+$/);
  });

  test("shows the author's line of an error, and no line of a file that is not the tool's", async () => {
    const folder = mkdtempSync(join(tmpdir(), "glovebox-line-"));
    const spec = (name: string): string => `export const spec = { name: "${name}", description: "Throws." };\n`;
    try {
      writeFileSync(
        join(folder, "typed.ts"),
        `${spec("typed")}export default (): never => {\n  throw new RangeError("high");\n};`,
      );
      writeFileSync(join(folder, "secret.txt"), "a secret line");
      const lie = `throw Object.assign(new Error("x"), { stack: 'Error: x\\n    at f (../secret.txt:1:1)' });`;
      writeFileSync(join(folder, "lie.js"), `${spec("lie")}export default () => { ${lie} };`);
      const typed = await glovebox(["run", join(folder, "typed.ts"), "--input", "{}"]);
      expect(typed).toEqual({
        code: 1,
        stdout: "",
        stderr:
          "glovebox: tool_error: RangeError: high\nwhat to do: glovebox docs tool_error\n" +
          `  at ${join(folder, "typed.ts")}:3:9\n  3 |   throw new RangeError("high");\n`,
      });
      const named = await glovebox(["run", "typed", "--tools", folder, "--input", "{}"]);
      expect(named.stderr).toBe(typed.stderr);
      expect((await glovebox(["run", join(folder, "lie.js"), "--input", "{}"])).stderr).not.toContain("secret");
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test.each([
    ["a tool that there is not", 2, ["nobody", "--input", "{}"]],
    ["a folder of several tools", 2, ["fixtures/tools", "--input", "{}"]],
    ["input that is not JSON", 3, ["add", "--input", "{"]],
    ["input that is no object", 3, ["add", "--input", "[1]"]],
    ["input that does not fit", 3, ["add", "--input", '{"a":1}']],
    ["a module that is not there", 3, ["./nothing.ts", "--input", "{}"]],
    ["an archive that is not there", 3, ["nothing.tar.gz", "--input", "{}"]],
    ["a module that is no tool", 3, ["fixtures/broken/no-spec.js", "--input", "{}"]],
  ])("refuses %s with %i", async (_, expected, args) => {
    const { code, stdout, stderr } = await glovebox(["run", ...args]);
    expect({ code, stdout }).toEqual({ code: expected, stdout: "" });
    expect(stderr).toMatch(/^glovebox: .+\n(?:what to do: glovebox docs \w+\n)?$/);
  });
});

describe("glovebox keys new", () => {
  test("prints a key once, and what to write into the configuration for it", async () => {
    const args = ["keys", "new", "--name", "ops", "--tenant", 'the "first"', "--role", "execute", "--role", "metrics"];
    const { code, stdout } = await glovebox(args);
    const [secret = "", blank, ...lines] = stdout.trimEnd().split("\n");
    expect({ code, blank }).toEqual({ code: 0, blank: "" });
    expect(secret).toMatch(/^gb_[A-Za-z0-9_-]{43}$/);
    const hash = `sha256:${createHash("sha256").update(secret).digest("hex")}`;
    const key = { name: "ops", hash, tenant: 'the "first"', roles: ["execute", "metrics"] };
    expect(readYaml(lines.join("\n"))).toEqual({ keys: [key] });
  });

  test.each([
    ["a name that is no label", ["--name", "a b"]],
    ["a role that there is not", ["--role", "root"]],
  ])("refuses %s with 2", async (_what, args) => {
    const { code, stdout } = await glovebox(["keys", "new", ...args]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  });
});

describe("glovebox serve", () => {
  let folder: string;

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "glovebox-cli-"));
    writeFileSync(join(folder, "sleep.js"), SLEEP);
  });

  afterAll(() => {
    rmSync(folder, { recursive: true });
  });

  test("says in one line where it listens, and serves the samples there", async () => {
    await using server = await serve();
    expect(server.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect((await execute(server.url, "add", { a: 1, b: 2 })).output).toEqual({ sum: 3 });
    const converted = await execute(server.url, "convert-currency", { amount: 1, from: "GBP", to: "EUR" });
    expect(converted.output).toMatchObject({ amount: 1.25 });
    server.signal("SIGINT");
    expect(await server.exit).toBe(0);
    expect(server.lines).toHaveLength(1);
    const [open, sandbox, ...others] = server.errors;
    expect(open).toContain("no keys are configured: only this machine reaches the server");
    expect(sandbox).toMatch(/^glovebox: executors run (?:inside bubblewrap$|without a sandbox)/);
    expect(others).toEqual(["glovebox: stopping; a second signal stops at once"]);
  });

  test("takes uploads into the folder that is named, and says where there can be none", async () => {
    await using server = await serve("--tools", folder, "--assets", join(folder, "assets"));
    const form = new FormData();
    form.append("asset", new Blob(["PK"]), "a.zip");
    form.append("asset_metadata", JSON.stringify({ asset_name: "a", asset_version: { version: "1" } }));
    const { status } = await fetch(`${server.url}/upload_asset`, { method: "POST", body: form });
    expect(status).toBe(201);
    const refused = await asProcess([
      "serve",
      "--port",
      "0",
      "--assets",
      join(folder, "sleep.js"),
      "--log-level",
      "silent",
    ]);
    expect(refused).toEqual({
      code: 2,
      stdout: "",
      stderr: "glovebox: the folder of assets cannot be used: ENOTDIR\n",
    });
  });

  test.each(["process", "threads"])("ends well under load when it is told to: %s", async (executor) => {
    await using server = await serve(
      "--tools",
      folder,
      "--executor",
      executor,
      "--workers",
      "1",
      "--drain-ms",
      "60000",
    );
    const calls = Array.from({ length: 20 }, () => execute(server.url, "sleep", { ms: 1_500 }));
    await callsInFlight(server.url, calls.length);
    const children = childrenOf(server.pid);
    if (executor === "process") expect(children).not.toEqual([]);
    server.signal("SIGTERM");
    for (const result of await Promise.all(calls)) {
      expect(result).toMatchObject({ success: true, output: { slept: 1_500 }, error: null });
    }
    expect(await server.exit).toBe(0);
    await gone(children);
    await expect(fetch(server.url)).rejects.toThrow();
  });

  test("ends well where a terminal interrupts all its processes at once", async () => {
    await using server = await serve("--tools", folder, "--drain-ms", "60000");
    const call = execute(server.url, "sleep", { ms: 1_000 });
    await callsInFlight(server.url, 1);
    process.kill(-server.pid, "SIGINT");
    expect((await call).output).toEqual({ slept: 1_000 });
    expect(await server.exit).toBe(0);
  });

  test("ends calls that go on after the drain, and ends well all the same", async () => {
    await using server = await serve(folder, "--drain-ms", "50");
    const call = execute(server.url, "sleep", { ms: 20_000 });
    await callsInFlight(server.url, 1);
    server.signal("SIGTERM");
    expect((await call).error?.code).toBe("engine_closed");
    expect(await server.exit).toBe(0);
  });

  test("ends at once at the second signal, and leaves no process behind", async () => {
    await using server = await serve("--tools", folder, "--drain-ms", "60000");
    const call = execute(server.url, "sleep", { ms: 20_000 }).then(
      () => "answered",
      () => "cut off",
    );
    await callsInFlight(server.url, 1);
    const children = childrenOf(server.pid);
    server.signal("SIGTERM");
    server.signal("SIGINT");
    expect(await server.exit).toBe(130);
    expect(await call).toBe("cut off");
    await gone(children);
  });

  test("ends with 2 where others than this machine could call without a key, and says what to do", async () => {
    const { code, stdout, stderr } = await asProcess(["serve", "--tools", folder, "--port", "0", "--host", "0.0.0.0"]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(
      /^glovebox: 0\.0\.0\.0 is reachable from other machines, and no keys are configured: .*glovebox keys new/,
    );
  });

  test("takes keys from the environment and the configuration, and listens for other machines then", async () => {
    const [listed, lone] = await Promise.all([
      glovebox(["keys", "new", "--name", "ops", "--role", "metrics"]),
      glovebox(["keys", "new"]),
    ]);
    const [secret = "", , ...lines] = listed.stdout.trimEnd().split("\n");
    writeFileSync(join(folder, "keys.config.yaml"), `${lines.join("\n")}\n`);
    const [key = ""] = lone.stdout.split("\n");
    vi.stubEnv("GLOVEBOX_KEY", key);
    const config = ["--config", join(folder, "keys.config.yaml")];
    await using server = await serve("--tools", folder, "--host", "0.0.0.0", ...config);
    vi.unstubAllEnvs();
    expect(server.errors.join("\n")).not.toContain("there are no keys");
    const url = server.url.replace("0.0.0.0", "127.0.0.1");
    const statusOf = async (path: string, sent?: string) => {
      const headers = sent === undefined ? {} : { authorization: `Bearer ${sent}` };
      return (await fetch(`${url}${path}`, { headers })).status;
    };
    expect(await statusOf("/v1/tools")).toBe(401);
    expect(await statusOf("/v1/tools", key)).toBe(200);
    expect(await statusOf("/metrics", secret)).toBe(200);
    expect(await statusOf("/v1/tools", secret)).toBe(403);
  });

  test("shows a key that stands where a hash belongs to nobody, and starts nothing", async () => {
    const [secret = ""] = (await glovebox(["keys", "new"])).stdout.split("\n");
    const keys = JSON.stringify([{ name: "k", hash: secret, tenant: "t", roles: ["execute"] }]);
    writeFileSync(join(folder, "wrong.config.yaml"), `keys: ${keys}\n`);
    const args = ["serve", "--tools", folder, "--port", "0"];
    const written = await asProcess([...args, "--config", join(folder, "wrong.config.yaml")]);
    vi.stubEnv("GLOVEBOX_KEYS", keys);
    const exported = await asProcess(args);
    vi.unstubAllEnvs();
    for (const { code, stdout, stderr } of [written, exported]) {
      expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
      expect(stderr).toContain("/keys/0/hash must be the hash of a key");
      expect(stderr).not.toContain(secret.slice(3));
    }
  });

  test("ends with 2 where the port is taken", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    const address = other.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    const { code, stdout, stderr } = await asProcess([
      "serve",
      "--tools",
      folder,
      "--port",
      `${port}`,
      "--log-level",
      "error",
    ]);
    other.close();
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toBe(
      `glovebox: cannot listen on 127.0.0.1, port ${port}: EADDRINUSE; another program listens there: end it, or name another port with --port\n`,
    );
  });

  test("ends with 3 where there are no tools", async () => {
    const { code, stderr } = await asProcess(["serve", "--tools", join(folder, "nowhere")]);
    expect(code).toBe(3);
    expect(stderr).toContain("does not exist");
  });
});
