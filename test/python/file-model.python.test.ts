import { readdirSync, readFileSync } from "node:fs";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { PythonMounts } from "./mounts.ts";

/** Does the same in a folder of a mount and in one of the interpreter's own memory, whose functions are CPython's own. */
const BODY = `def act(base, step):
    verb, name, other, data, at = step
    path, to = os.path.join(base, name), os.path.join(base, other)
    def patch():
        with open(path, "r+b") as file:
            file.seek(at); file.write(data.encode()); file.seek(max(at - 2, 0))
            return file.read().hex()
    def parts():
        with open(path, "rb", buffering=0) as file:
            first = file.read(at)
            return [first.hex(), file.tell(), file.seek(-at if at <= os.path.getsize(path) else 0, os.SEEK_END), file.readall().hex()]
    def append():
        with open(path, "a", encoding="utf-8") as file:
            file.write(data); file.flush(); file.write(data)
            return file.tell()
    def status():
        info = os.stat(path)
        return [stat.filemode(info.st_mode)[0], info.st_size if stat.S_ISREG(info.st_mode) else None]
    verbs = {
        "write": lambda: Path(path).write_text(data, encoding="utf-8"), "append": append, "patch": patch, "parts": parts,
        "read": lambda: open(path, newline="", encoding="utf-8", errors="replace").read(), "lines": lambda: open(path, encoding="utf-8", errors="replace").readlines(),
        "exclusive": lambda: open(path, "x").write(data), "truncate": lambda: os.truncate(path, at), "touch": lambda: Path(path).touch(),
        "mkdir": lambda: os.mkdir(path), "makedirs": lambda: os.makedirs(path, exist_ok=at % 2 == 0), "rmdir": lambda: os.rmdir(path),
        "unlink": lambda: os.unlink(path), "rename": lambda: os.rename(path, to), "copy": lambda: shutil.copyfile(path, to) and None,
        "rmtree": lambda: shutil.rmtree(path), "list": lambda: sorted(os.listdir(path)), "stat": status,
        "walk": lambda: sorted([os.path.relpath(here, base), sorted(folders), sorted(files)] for here, folders, files in os.walk(path)),
        "glob": lambda: sorted(os.path.relpath(one, base) for one in glob.glob(path + "/**", recursive=True)),
        "tests": lambda: [os.path.exists(path), os.path.isdir(path), os.path.isfile(path), os.path.samefile(path, to)],
        "real": lambda: os.path.relpath(os.path.realpath(path), base),
    }
    try:
        return verbs[verb]()
    except (OSError, shutil.Error) as error:
        # The memory's file system has a number of its own for what is moved onto something of another kind.
        return ["failed", "" if verb in ("rename", "rmtree") else type(error).__name__]
traces = []
for base in ("/out/same", "/tmp/same"):
    os.mkdir(base)
    traces.append([act(base, step) for step in input["steps"]])
shutil.rmtree("/tmp/same")
return traces`;

// prettier-ignore
const VERBS = [
  "write", "append", "patch", "parts", "read", "lines", "exclusive", "truncate", "touch", "mkdir", "makedirs",
  "rmdir", "unlink", "rename", "copy", "rmtree", "list", "stat", "walk", "glob", "tests", "real",
];
const NAMES = ["a", "b", "a/x", "a/ü y", "b/x", "a/x/z", "a/./x", ".//a"];
const name = fc.constantFrom(...NAMES);
const step = fc.tuple(
  fc.constantFrom(...VERBS),
  name,
  name,
  fc.constantFrom("", "x", "größe\nzwei\r\n", "\0\u0001"),
  fc.nat({ max: 12 }),
);

let mounts: PythonMounts;
beforeAll(async () => {
  mounts = await PythonMounts.open();
  await mounts.run(BODY, { name: "files-same" }, { steps: [] });
}, 300_000);
afterAll(() => mounts.close());

const same = async (steps: unknown): Promise<void> => {
  await mounts.outputOf(`shutil.rmtree("/out/same", ignore_errors=True)`, { name: "files-clean" });
  const { output, error } = await mounts.engine.execute({ name: "files-same", arguments: { steps } });
  expect(error).toBeNull();
  const [mount, memory] = output as unknown[];
  expect(mount).toEqual(memory);
};

test("whatever is done to files, a mount answers as the interpreter's own memory does", async () => {
  await fc.assert(fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 25 }), same), { numRuns: 40 });
}, 300_000);

test("and what is there afterwards is what the host has", async () => {
  await same([
    ["makedirs", "a/x", "a", "", 0],
    ["write", "a/x/z", "a", "größe\nzwei\r\n", 0],
    ["patch", "a/x/z", "a", "x", 12],
    ["rename", "a", "b", "", 0],
  ]);
  const files = readdirSync(mounts.host("out", "same"), { recursive: true, encoding: "utf8" });
  expect(files.sort()).toEqual(["b", "b/x", "b/x/z"]);
  expect(readFileSync(mounts.host("out", "same", "b", "x", "z"), "utf8")).toBe("größe\nzweix\n");
});
