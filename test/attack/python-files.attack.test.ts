import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { PythonMounts } from "../python/mounts.ts";

/** In a file beside the mounts, and nowhere else. */
const MARK = "a-mark-of-the-host";

let mounts: PythonMounts;
beforeAll(async () => {
  mounts = await PythonMounts.open();
  writeFileSync(mounts.host("secret.txt"), MARK);
  mkdirSync(mounts.host("outside"));
  for (const [name, target] of [
    ["up", ".."],
    ["absolute", mounts.host("secret.txt")],
    ["root", "/"],
    ["loop", "loop"],
  ]) {
    symlinkSync(target ?? "", mounts.host("out", name ?? ""));
  }
}, 300_000);
afterAll(() => mounts.close());

/** What each way led to: the error's class, or what was found. */
const WAYS = `seen = {}
def way(name):
    def take(act):
        try:
            seen[name] = repr(act())
        except BaseException as error:
            seen[name] = "! " + type(error).__name__
        return act
    return take
secret, base = input["secret"], input["base"]`;

async function ways(body: string): Promise<Readonly<Record<string, string>>> {
  const input = { secret: mounts.host("secret.txt"), base: mounts.base };
  const found = await mounts.outputOf(`${WAYS}\n${body}\nreturn seen`, {}, input);
  expect(JSON.stringify(found)).not.toContain(MARK);
  expect(JSON.stringify(found)).not.toContain("root:");
  return found as Readonly<Record<string, string>>;
}

const isRefused = (outcome: string) => outcome.startsWith("! ");

describe("no path leads to the host's files beside the mounts", () => {
  test("neither one that is made up, nor one through a link", async () => {
    const body = `paths = [secret, "/data/../secret.txt", "/data/../../../../../../.." + secret, "/data/out", "/out/up/secret.txt", "/out/absolute", "/out/root" + secret,
  "/out/up/../secret.txt", "/out/loop", "/out/./up//secret.txt", "/DATA/words.txt", "/data\\\\..\\\\secret.txt", "/data/%2e%2e/secret.txt", "//proc/self/root" + secret,
  "/proc/self/root" + secret, "/proc/self/cwd/secret.txt", "/proc/self/environ", "/proc/1/environ", "/proc/self/mem", "/dev/mem", "/etc/passwd", "/etc/shadow",
  "/data/\\u2024\\u2024/secret.txt", "file://" + secret, "~root/.ssh/id_rsa", "/data/sub/../../secret.txt", "/out/" + "../" * 50 + secret]
for path in paths:
    way("open " + path)(lambda: open(path).read())
    way("list " + path)(lambda: os.listdir(os.path.dirname(path)) if path.startswith((base, "/out/root", "/out/up/s")) else os.listdir(path))
    way("stat " + path)(lambda: os.stat(path))`;
    const found = await ways(body);
    expect(Object.entries(found).filter(([, outcome]) => !isRefused(outcome))).toEqual([]);
  });

  test("nor by functions that were there before the stand-ins", async () => {
    const body = `import posix, _io, ctypes, importlib, linecache
for name, path in {"secret": secret, "passwd": "/etc/passwd", "link": "/out/absolute", "granted": "/data/words.txt"}.items():
    way("posix " + name)(lambda: posix.open(path, 0))
    way("raw " + name)(lambda: _io.FileIO(path).read())
    way("code " + name)(lambda: io.open_code(path).read())
    way("wrapped " + name)(lambda: _io.open(path).read())
    way("libc " + name)(lambda: ctypes.CDLL(None).open(path.encode(), 0) < 0 and 1 / 0)
    way("folder " + name)(lambda: os.open(os.path.basename(path), 0, dir_fd=os.open(os.path.dirname(path), 0)))
    way("imported " + name)(lambda: importlib.machinery.SourceFileLoader("x", path).load_module())
    way("lines " + name)(lambda: linecache.getlines(path.replace("/data", "/data/.."))[0])`;
    const found = await ways(body);
    expect(Object.entries(found).filter(([, outcome]) => !isRefused(outcome))).toEqual([]);
  });

  test("nor through links in the interpreter's own memory, or descriptors of its folders", async () => {
    const body = `os.symlink("/data/words.txt", "/tmp/link"); os.symlink(secret, "/tmp/secret"); os.symlink("/", "/tmp/root"); os.symlink("/data", "/tmp/data")
root = os.open("/", os.O_RDONLY)
for path in ("/tmp/link", "/tmp/secret", "/tmp/root/etc/passwd", "/tmp/root" + secret, "/tmp/data/words.txt"):
    way("open " + path)(lambda: open(path).read())
for path in ("etc/passwd", "data/words.txt", secret[1:], "../.." + secret):
    way("at " + path)(lambda: os.open(path, os.O_RDONLY, dir_fd=root))
    way("stat " + path)(lambda: os.stat(path, dir_fd=root))
for number in (3, 4, 5, 6, 9, 1048576, 1048577, -1, 2 ** 40):
    way("number " + str(number))(lambda: os.read(number, 10) and 1)`;
    const found = await ways(body);
    const open = Object.entries(found).filter(([, outcome]) => !isRefused(outcome));
    // The numbers of folders in memory are its own.
    expect(open.filter(([name]) => !name.startsWith("number"))).toEqual([]);
  });

  test("nor by paths that say one thing first and another then", async () => {
    const body = `class Text(str):
    def startswith(self, *_): return True
    def endswith(self, *_): return False
    def encode(self, *_): return b""
    def __contains__(self, _): return False
class Turning:
    def __init__(self, *paths): self.paths = list(paths)
    def __fspath__(self): return self.paths.pop(0) if len(self.paths) > 1 else self.paths[0]
for path in (Text(secret), Text("/data/../secret.txt"), Text("../secret.txt"), Turning("/data/words.txt", secret), Turning("/tmp/x", "/data/out"), Turning(secret, "/out/absolute"), Turning(7, secret), Turning("/data", "/etc")):
    way("open " + type(path).__name__ + str(len(seen)))(lambda: open(path).read() and 1 / 0)
    way("stat " + type(path).__name__ + str(len(seen)))(lambda: os.listdir(path) and 1 / 0)
import glovebox._mounts as mounts, glovebox._mount_file as files
for path in ("/../../../.." + secret, secret, "../secret.txt", "/out/up/x", "/data/out", "", "\\0", "/", ".", 7, None, ["/data"]):
    way("asked " + repr(path))(lambda: mounts.ask("readFile", path))
    way("made " + repr(path))(lambda: files.MountFile(path, os.O_RDWR | os.O_CREAT, "x"))
    way("named " + repr(path))(lambda: mounts.ask("rename", "/out/up", to=path))`;
    const found = await ways(body);
    expect(Object.entries(found).filter(([, outcome]) => !isRefused(outcome))).toEqual([]);
  });
});

test("nothing is made, changed or removed outside of the mounts", async () => {
  const before = readdirSync(mounts.base).sort();
  const body = `outside = [base + "/outside", "/out/up/outside", "/out/root" + base + "/outside", "/data/../outside"]
for folder in outside:
    way("write " + folder)(lambda: open(folder + "/x", "w"))
    way("mkdir " + folder)(lambda: os.mkdir(folder + "/x"))
    way("remove " + folder)(lambda: shutil.rmtree(folder))
    way("move " + folder)(lambda: os.rename("/data/words.txt", folder + "/x"))
    way("copy " + folder)(lambda: shutil.copyfile("/data/words.txt", folder + "/x"))
    way("cut " + folder)(lambda: os.truncate(folder + "/../secret.txt", 0))
way("link")(lambda: os.symlink(base, "/out/made"))
way("hard link")(lambda: os.link("/data/words.txt", "/out/made"))
way("device")(lambda: os.mkfifo("/out/made"))
way("read-only")(lambda: open("/data/words.txt", "r+").write("x"))`;
  const found = await ways(body);
  // Below its own /tmp the interpreter may do as it likes: that is memory.
  const done = Object.entries(found).filter(([, outcome]) => !isRefused(outcome));
  expect(done.filter(([name]) => !name.includes(` ${mounts.base}`))).toEqual([]);
  expect(readdirSync(mounts.base).sort()).toEqual(before);
  expect(readdirSync(mounts.host("outside"))).toEqual([]);
  expect(existsSync(mounts.host("out", "made"))).toBe(false);
});

test("what a tenant leaves in memory is found by no other, nor by another tool", async () => {
  const body = `found = [os.path.join(here, one) for here, _, files in os.walk("/tmp") for one in files] + [p for p in ("/home/mark", "/tool/mark") if os.path.exists(p)]
for path in ("/tmp/mark", "/home/mark", "/tool/mark"): Path(path).write_text("mine")
return found`;
  const name = "files-tenants";
  expect(await mounts.outputOf(body, { name })).toEqual([]);
  for (const tenant of ["one", "two"]) {
    expect((await mounts.engine.execute({ name, arguments: {} }, { tenant })).output).toEqual([]);
  }
  expect(await mounts.outputOf(body)).toEqual([]);
});
