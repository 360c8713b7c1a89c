import { readdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { expect, test } from "vitest";
import { newFolder } from "../kernel/tool/package/opening.ts";
import { indexFile, serveIndex } from "../python/index-server.ts";
import { glovebox } from "./command.ts";

test("glovebox python add: a tool runs with what it adds", async () => {
  const shout = { "shout/__init__.py": "from loud import up\n\ndef shout(text):\n    return up(text) + '!'\n" };
  const loud = { "loud.py": "def up(text):\n    return text.upper()\n" };
  await using index = await serveIndex([
    indexFile({ name: "shout", version: "1.2", files: shout, metadata: ["Requires-Dist: Loud>=1"] }),
    indexFile({ name: "loud", version: "1.0", files: loud }),
  ]);
  const folder = await newFolder();
  await writeFile(path.join(folder, "glovebox.config.yaml"), "packages:\n  wheels: ./wheels\n");
  await writeFile(
    path.join(folder, "greet.py"),
    'from shout import shout\n\ndef greet(name: str) -> str:\n    """Greets."""\n    return shout(f"hello {name}")\n',
  );
  const run = ["run", "greet.py", "--input", '{"name":"Ada"}'];
  const before = await glovebox(folder, run);
  expect(before).toMatchObject({ code: 3, stdout: "" });
  expect(before.stderr).toContain("glovebox python add");

  await writeFile(path.join(folder, "requirements.txt"), "shout~=1.0\n");
  const env = { PIP_INDEX_URL: `${index.origin}/simple` };
  expect(await glovebox(folder, ["python", "add", "-r", "requirements.txt"], env)).toEqual({
    code: 0,
    stdout: `added  loud 1.0  loud-1.0-py3-none-any.whl\nadded  shout 1.2  shout-1.2-py3-none-any.whl\nwheels/pylock.toml: 2 packages\n`,
    stderr: "",
  });
  const again = await glovebox(folder, ["python", "add", "-r", "requirements.txt", "--json"], env);
  expect(JSON.parse(again.stdout)).toMatchObject({ wheels: [{ name: "loud" }, { name: "shout" }] });
  expect((await readdir(path.join(folder, "wheels"))).sort()).toEqual([
    "loud-1.0-py3-none-any.whl",
    "pylock.toml",
    "shout-1.2-py3-none-any.whl",
  ]);
  expect(await glovebox(folder, run)).toMatchObject({ code: 0, stdout: '"HELLO ADA!"\n' });
}, 300_000);

test("glovebox python add --wheels says how tools get a folder that the configuration does not have", async () => {
  await using index = await serveIndex([indexFile({ name: "leaf" })]);
  const args = ["python", "add", "leaf", "--index", `${index.origin}/simple`];
  const folder = await newFolder();
  const other = await glovebox(folder, [...args, "--wheels", "./w"]);
  expect(other).toMatchObject({ code: 0, stdout: expect.stringContaining("w/pylock.toml: 1 package\n") as string });
  const [, config = ""] = /has this folder: (.+)\n$/.exec(other.stderr) ?? [];
  await writeFile(path.join(folder, "glovebox.config.yaml"), config);
  expect(await glovebox(folder, [...args, "--wheels", "w"])).toMatchObject({ code: 0, stderr: "" });
});

test.each([
  ["no folder", ["leaf"], 2, "write into glovebox.config.yaml, where tools find it too,"],
  ["no packages", ["--wheels", "w"], 2, "no packages: name them"],
  ["an index without TLS", ["leaf", "--wheels", "w", "--index", "http://index.example/"], 2, "begins with https://"],
  ["no such file", ["-r", "nothing.txt", "--wheels", "w"], 2, "there is no file nothing.txt"],
  ["an address", ["https://files.example/a.whl", "--wheels", "w"], 3, "ask for it by its name"],
  [
    "an index that cannot be reached",
    ["leaf", "--wheels", "w", "--index", "http://127.0.0.1:9/"],
    3,
    "cannot be reached",
  ],
])("glovebox python add is refused with %s", async (_what, args, code, problem) => {
  const ended = await glovebox(await newFolder(), ["python", "add", ...args]);
  expect(ended).toMatchObject({ code, stdout: "" });
  expect(ended.stderr).toContain(problem);
});
