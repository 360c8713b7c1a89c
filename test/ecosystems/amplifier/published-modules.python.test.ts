import { once } from "node:events";
import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { mountPlan } from "../../../src/ecosystems/amplifier/index.ts";
import { createEngine, type Engine } from "../../../src/index.ts";
import { works } from "../../executor/bubblewrap.ts";
import { expectOutcome } from "../../conformance/outcome.ts";

const CHECKOUTS = process.env["GLOVEBOX_UPSTREAM_AMPLIFIER"];
const HOW =
  "of GLOVEBOX_UPSTREAM_AMPLIFIER, a folder with clones of https://github.com/microsoft/amplifier-module-tool-NAME and a folder wheels with beautifulsoup4, soupsieve and typing_extensions,";
const MODULES_MS = 300_000;

const FS = { fs: { project: { mode: "rw" } } } as const;
const IN_PROJECT = { working_dir: "/project", allowed_read_paths: ["/project"], allowed_write_paths: ["/project"] };

interface Opened {
  readonly engine: Engine;
  readonly project: string;
  readonly origin: string;
  readonly run: (name: string, args: Record<string, unknown>) => Promise<unknown>;
}

/** An engine that grants what the modules need: a folder, commands, and a server with one page. */
async function open(checkouts: string): Promise<Opened> {
  const project = await mkdtemp(join(tmpdir(), "glovebox-amplifier-"));
  await writeFile(join(project, "a.txt"), "one\ntwo\nthree\n");
  const page = "<html><style>x{}</style><h1>Hello</h1><script>1</script><p>wide world</p></html>";
  const server = createServer((_request, response) => response.setHeader("content-type", "text/html").end(page));
  await once(server.listen(0, "127.0.0.1"), "listening");
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const allow = {
    fs: { project: { mode: "rw", path: project } },
    exec: { mounts: { "/project": { path: project, mode: "rw" } } },
    fetch: { origins: [], privateOrigins: [origin] },
  } as const;
  const engine = await createEngine({
    workers: 1,
    executor: "threads",
    packages: { wheels: join(checkouts, "wheels") },
    policy: { rules: [{ tools: ["*"], allow }] },
  });
  onTestFinished(async () => {
    await engine.close();
    server.close();
    await rm(project, { recursive: true });
  });
  const run = async (name: string, args: Record<string, unknown>): Promise<unknown> =>
    (await engine.execute({ name, arguments: args })).output;
  return { engine, project, origin, run };
}

test.skipIf(CHECKOUTS === undefined)(
  `the published tool modules ${HOW} mount and run`,
  { timeout: MODULES_MS },
  async () => {
    const folder = CHECKOUTS ?? "";
    const { engine, project, origin, run } = await open(folder);
    const mount = async (name: string, config: object, options: object): Promise<readonly string[]> => {
      const [mounted] = await mountPlan(
        engine,
        { tools: [{ module: `tool-${name}`, config }] },
        { folder, ...options },
      );
      expect(mounted).toMatchObject({ state: "mounted", error: null });
      return mounted?.tools ?? [];
    };

    expect(await mount("filesystem", IN_PROJECT, { capabilities: FS })).toEqual([
      "read_file",
      "write_file",
      "edit_file",
    ]);
    expect(await run("read_file", { file_path: "a.txt" })).toMatchObject({
      content: "     1\tone\n     2\ttwo\n     3\tthree",
    });
    expect(await run("read_file", { file_path: "/etc/passwd" })).toContain("not within allowed read paths");
    await run("write_file", { file_path: "sub/b.txt", content: "hello\nworld\n" });
    await run("edit_file", { file_path: "a.txt", old_string: "two", new_string: "2" });
    expect(readFileSync(join(project, "a.txt"), "utf8")).toBe("one\n2\nthree\n");

    expect(await mount("search", { working_dir: "/project" }, { capabilities: FS })).toEqual(["grep", "glob"]);
    expect(await run("grep", { pattern: "wor" })).toMatchObject({ files: ["/project/sub/b.txt"] });
    expect(await run("glob", { pattern: "**/*.txt" })).toMatchObject({ count: 2 });

    expect(await mount("todo", {}, { isolation: "shared" })).toEqual(["todo"]);
    const todos = [{ content: "Write", activeForm: "Writing", status: "pending" }];
    await run("todo", { action: "create", todos });
    expect(await run("todo", { action: "list" })).toEqual({ status: "listed", count: 1, todos });

    expect(await mount("web", { blocked_domains: [] }, { capabilities: { fetch: { origins: [origin] } } })).toEqual([
      "web_search",
      "web_fetch",
    ]);
    expect(await run("web_fetch", { url: `${origin}/` })).toMatchObject({ content: "Hellowide world" });

    expect(await mount("bash", { working_dir: "/project" }, { capabilities: { exec: true } })).toEqual(["bash"]);
    if (works)
      expect(await run("bash", { command: "ls; echo $((1 + 1))" })).toMatchObject({ stdout: "a.txt\nsub\n2\n" });

    await expectOutcome("amplifier-tool-modules", {
      suite: "Amplifier, published tool modules: filesystem, search, todo, web, bash",
      version: "filesystem 355fa41, search 3dacee9, todo 483c5a8, web 26b6d90, bash d8cc410",
      passed: 5,
      notApplicable: [],
      refused: [],
      open: [],
    });
  },
);
