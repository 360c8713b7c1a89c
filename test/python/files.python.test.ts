import { existsSync, readFileSync, rmSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { BIG_BYTES, PythonMounts } from "./mounts.ts";

let mounts: PythonMounts;
beforeAll(async () => {
  mounts = await PythonMounts.open();
}, 300_000);
afterAll(() => mounts.close());

describe("what is in a mount is read", () => {
  test("as text with its coding and its ends of lines, as bytes, whole, by lines and in parts", async () => {
    const body = `with open("/data/words.txt", encoding="utf-8") as file:
    lines = list(file)
with open("/data/big", "rb") as file:
    file.seek(-3, os.SEEK_END)
    end = file.read().decode()
return [lines, open("/data/words.txt", newline="").read(), open("/data/words.txt", encoding="latin-1").read()[:4],
  list(Path("/data/sub/raw.bin").read_bytes()), len(Path("/data/big").read_text()), end, told(lambda: open("/data/sub/raw.bin").read())[0]]`;
    expect(await mounts.outputOf(body)).toEqual([
      ["größe\n", "zwei\n"],
      "größe\r\nzwei\n",
      "grÃ¶",
      [0, 200, 255],
      BIG_BYTES,
      "xxx",
      "UnicodeDecodeError",
    ]);
  });

  test("and looked at: kinds, sizes, listings, walks, patterns and links", async () => {
    const body = `entries = {e.name: [e.path, e.is_file(), e.is_dir(), e.is_symlink()] for e in os.scandir("/data/") if e.name != "out"}
info = os.stat("/data/words.txt")
return [sorted(os.listdir("/data")), sorted(entries), entries["link"], entries["sub"], info.st_size, stat.S_ISREG(info.st_mode),
  stat.S_ISDIR(os.stat("/data").st_mode), [os.path.isdir("/data/sub"), os.path.exists("/data/none"), os.path.islink("/data/link"), os.path.getsize("/data/big")],
  sorted(glob.glob("/data/**/*.*", recursive=True)), sorted(str(p) for p in Path("/data").rglob("*.bin")),
  [sorted(files) for _, _, files in os.walk("/data")], str(Path("/data/link").resolve()), os.readlink("/data/link"), os.path.samefile("/data/link", "/data/words.txt"),
  os.access("/data/words.txt", os.W_OK), os.listdir(b"/data/sub")[0].decode()]`;
    expect(await mounts.outputOf(body)).toEqual([
      ["big", "link", "out", "sub", "words.txt"],
      ["big", "link", "sub", "words.txt"],
      ["/data/link", true, false, true],
      ["/data/sub", false, true, false],
      14,
      true,
      true,
      [true, false, true, BIG_BYTES],
      ["/data/sub/raw.bin", "/data/words.txt"],
      ["/data/sub/raw.bin"],
      [["big", "link", "out", "words.txt"], ["raw.bin"]],
      "/data/words.txt",
      "/data/words.txt",
      true,
      false,
      "raw.bin",
    ]);
  });

  test("by paths of all forms, and nothing of the host beside", async () => {
    const body = `def read(path): return told(lambda: open(path, "rb").read(3))
paths = ["/data/./sub/../words.txt", "//data//words.txt", "/tmp/../data/words.txt", b"/data/words.txt", Path("/data/words.txt"),
  "/data/words.txt/", "/data/../etc/passwd", "/etc/passwd", "/proc/self/environ", "/data/out", "/data/sub", "/data/none", "/other/x",
  "/data/" + "n" * 5000, "/data/a\\0b", "/data/\\udc80", "data/words.txt", "/data/" + "d/" * 40]
return [read(path) if isinstance(read(path), list) else "read" for path in paths]`;
    const [gone, denied] = [
      ["FileNotFoundError", "No such file or directory"],
      ["PermissionError", "Permission denied"],
    ];
    expect(await mounts.outputOf(body)).toEqual([
      "read",
      "read",
      "read",
      "read",
      "read",
      ["NotADirectoryError", "Not a directory"],
      gone,
      gone,
      gone,
      denied,
      ["IsADirectoryError", "Is a directory"],
      gone,
      denied,
      ["OSError", "Filename too long"],
      ["ValueError", "embedded null byte"],
      ["OSError", "Illegal byte sequence"],
      gone,
      ["OSError", "Filename too long"],
    ]);
  });
});

describe("what is in a mount is changed", () => {
  test("by writing, appending, in place and exclusively", async () => {
    const body = `with open("/out/notes.txt", "w") as file:
    file.write("one\\n")
    seen = [file.name, file.mode, os.path.getsize("/out/notes.txt")]
    file.flush()
    seen.append(os.path.getsize("/out/notes.txt"))
with open("/out/notes.txt", "a") as file:
    seen.append(file.tell())
    print("two", file=file)
with open("/out/notes.txt", "r+") as file:
    seen.append(file.readline())
    file.seek(0)
    file.write("ONE")
with open("/out/raw", "w+b") as file:
    file.write(bytes(range(256)))
    file.seek(2); file.write(b"ab"); file.seek(300); file.write(b"end"); file.truncate(302); file.seek(0)
    seen.append(len(file.read()))
return [seen, Path("/out/notes.txt").read_text(), told(lambda: open("/out/notes.txt", "x")), told(lambda: open("/out/none", "r+")), told(lambda: open("/out", "w"))]`;
    expect(await mounts.outputOf(body)).toEqual([
      ["/out/notes.txt", "w", 0, 4, 4, "one\n", 302],
      "ONE\ntwo\n",
      ["FileExistsError", "File exists"],
      ["FileNotFoundError", "No such file or directory"],
      ["IsADirectoryError", "Is a directory"],
    ]);
    const raw = readFileSync(mounts.host("out", "raw"));
    expect([raw.length, raw.subarray(0, 5).toString("latin1"), raw.subarray(299).toString()]).toEqual([
      302,
      "\0\u0001ab\u0004",
      "\0en",
    ]);
  });

  test("by folders, moves and copies, also between a mount and memory", async () => {
    const body = `Path("/out/a/b/c").mkdir(parents=True)
shutil.copytree("/data/sub", "/out/a/sub")
shutil.copy2("/out/a/sub/raw.bin", "/tmp/raw.bin")
shutil.move("/tmp/raw.bin", "/out/a/moved.bin")
os.replace("/out/a/moved.bin", "/out/a/b/moved.bin")
Path("/out/a/touched").touch()
refused = [told(lambda: os.rmdir("/out/a")), told(lambda: os.rename("/tmp", "/out/tmp")), told(lambda: os.symlink("/tmp", "/out/s")),
  told(lambda: os.mkdir("/out/a")), told(lambda: os.remove("/out/a")), told(lambda: os.remove("/data/big")), told(lambda: os.chmod("/data/big", 0)), os.chmod("/out/a", 0o700)]
shape = sorted(str(p) for p in Path("/out/a").rglob("*"))
shutil.rmtree("/out/a")
return [refused, shape, os.path.exists("/out/a")]`;
    expect(await mounts.outputOf(body)).toEqual([
      [
        ["OSError", "Directory not empty"],
        ["OSError", "Cross-device link"],
        ["PermissionError", "Operation not permitted"],
        ["FileExistsError", "File exists"],
        ["IsADirectoryError", "Is a directory"],
        ["PermissionError", "Permission denied"],
        ["PermissionError", "Permission denied"],
        null,
      ],
      ["/out/a/b", "/out/a/b/c", "/out/a/b/moved.bin", "/out/a/sub", "/out/a/sub/raw.bin", "/out/a/touched"],
      false,
    ]);
    expect(existsSync(mounts.host("out", "a"))).toBe(false);
  });

  test("by what is built on files: archives, tables, JSON and temporary files", async () => {
    const body = `with zipfile.ZipFile("/out/all.zip", "w", zipfile.ZIP_DEFLATED) as archive:
    archive.write("/data/words.txt", "words.txt"); archive.writestr("big", "y" * 1_000_000)
with open("/out/rows.csv", "w", newline="") as file:
    csv.writer(file).writerows([["a", "b"], [1, "x,y"]])
with open("/out/all.json", "w") as file:
    json.dump({"ok": True}, file)
with tempfile.NamedTemporaryFile("w", dir="/out") as file:
    file.write("kept for a while"); file.flush()
    there = [os.path.exists(file.name), os.path.dirname(file.name)]
with tempfile.TemporaryDirectory(dir="/out") as folder:
    Path(folder, "x").write_text("x")
with zipfile.ZipFile("/out/all.zip") as archive:
    zipped = [archive.testzip(), archive.read("words.txt").decode()[:5], len(archive.read("big"))]
return [zipped, list(csv.reader(open("/out/rows.csv", newline=""))), json.load(open("/out/all.json")), there, os.path.exists(file.name), os.path.exists(folder)]`;
    expect(await mounts.outputOf(body)).toEqual([
      [null, "größe", 1_000_000],
      [
        ["a", "b"],
        ["1", "x,y"],
      ],
      { ok: true },
      [true, "/out"],
      false,
      false,
    ]);
  });

  test("by descriptors, and from a mount as the current folder", async () => {
    const body = `number = os.open("/out/by-number", os.O_RDWR | os.O_CREAT | os.O_TRUNC)
os.write(number, b"hello"); os.lseek(number, 1, os.SEEK_SET)
seen = [os.read(number, 2).decode(), os.fstat(number).st_size]
os.close(number)
with os.fdopen(os.open("/out/by-number", os.O_WRONLY | os.O_APPEND), "w") as file:
    file.write("!")
os.chdir("/out")
here = [os.getcwd(), open("by-number").read(), os.path.abspath("x"), "by-number" in os.listdir(), str(Path.cwd())]
os.chdir("/tmp")
return [seen, here, os.getcwd(), told(lambda: os.read(number, 1))]`;
    expect(await mounts.outputOf(body)).toEqual([
      ["el", 5],
      ["/out", "hello!", "/out/x", true, "/out"],
      "/tmp",
      ["OSError", "Bad file descriptor"],
    ]);
  });

  test("also by a file that nobody closes, and a call that cannot write it fails", async () => {
    const opened = `global file
file = open("/out/left.txt", "w")
file.write("not closed")`;
    expect(await mounts.outputOf(opened)).toBeNull();
    expect(readFileSync(mounts.host("out", "left.txt"), "utf8")).toBe("not closed");
    const { error } = await mounts.run(`${opened}\nos.remove("/out/left.txt"); os.mkdir("/out/left.txt")`);
    expect(error?.type).toBe("IsADirectoryError");
    rmSync(mounts.host("out", "left.txt"), { recursive: true });
  });
});
