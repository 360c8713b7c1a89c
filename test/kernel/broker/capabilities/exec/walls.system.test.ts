import {
  chmodSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { hostname } from "node:os";
import path from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { folder, noJail, opened, refusedWith } from "./opened.ts";

const hasPython = existsSync("/usr/bin/python3");

describe.skipIf(noJail !== undefined)(`around a command (${noJail ?? "in bubblewrap"})`, () => {
  test("there is nothing of the host but its programs", async () => {
    const { stdout } = await opened().run(
      "ls -A / /etc /home /tmp; id -u; hostname 2>/dev/null || cat /proc/sys/kernel/hostname",
    );
    const seen = new Set(stdout.split(/\s+/));
    for (const name of ["root", "work", "var", "opt", "sys", "run", "passwd", "shadow", "hosts"]) {
      expect(seen).not.toContain(name);
    }
    expect(seen).toContain("65534");
    expect(seen).not.toContain(hostname());
  });

  test("there is no environment but three variables", async () => {
    process.env["GLOVEBOX_TEST_SECRET"] = "secret";
    onTestFinished(() => void delete process.env["GLOVEBOX_TEST_SECRET"]);
    const { stdout } = await opened().run("env; tr '\\0' '\\n' </proc/1/environ");
    const names = new Set(stdout.split("\n").flatMap((line) => (line.includes("=") ? [line.split("=")[0]] : [])));
    expect(
      [...names].filter((name) => !["PATH", "HOME", "LANG", "PWD", "OLDPWD", "_", "SHLVL"].includes(name ?? "")),
    ).toEqual([]);
  });

  test("nothing can be written but in its own folders", async () => {
    const script =
      "for f in /x /usr/x /bin/x /etc/x /dev/x /proc/x /home/x /tmp/x /dev/shm/x; do (echo x >$f) 2>/dev/null && echo $f; done";
    expect((await opened().run(script)).stdout).toBe("/home/x\n/tmp/x\n/dev/shm/x\n");
  });

  // The host's name is the namespace's own, so that this changes nothing where it should not hold.
  test("the kernel's settings cannot be written, also where the host is root", async () => {
    const { stdout } = await opened().run(
      "for f in hostname domainname; do (echo other >/proc/sys/kernel/$f) 2>/dev/null && echo $f; done; grep -c ' /proc ro,' /proc/self/mountinfo",
    );
    expect(stdout).toBe("1\n");
  });

  test("its own folders hold only so much", async () => {
    const script =
      "for d in /home /tmp /dev/shm; do for i in 1 2; do head -c 40000000 /dev/zero >$d/$i 2>/dev/null; done; done; du -sm /home /tmp /dev/shm | cut -f1";
    const sizes = (await opened().run(script)).stdout.trim().split("\n").map(Number);
    expect(sizes).toHaveLength(3);
    for (const size of sizes) expect(size).toBeLessThanOrEqual(64);
  });

  test("one command finds nothing of another", async () => {
    const { run } = opened();
    await run("echo mine >/tmp/x; echo mine >~/x; echo mine >/dev/shm/x");
    expect((await run("cat /tmp/x ~/x /dev/shm/x 2>/dev/null")).stdout).toBe("");
  });

  test("there is nobody to send a signal to", async () => {
    const { stdout } = await opened().run(
      `kill -0 ${process.pid} 2>/dev/null && echo seen; (kill -9 -1) 2>/dev/null; echo alive`,
    );
    expect(stdout.split("\n")).not.toContain("seen");
    const { stdout: pids } = await opened().run("ls /proc | grep -E '^[0-9]+$' | wc -l");
    expect(Number(pids)).toBeLessThan(10);
  });

  test("there is no network, also not the machine's own", async () => {
    const server = createServer((socket) => socket.end("reached"));
    await once(server.listen(0, "127.0.0.1"), "listening");
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    const bash = await opened().run(
      `bash -c 'exec 3<>/dev/tcp/127.0.0.1/${port} && cat <&3'; ls /sys/class/net 2>&1; cut -d: -f1 /proc/net/dev | tail -n +3`,
    );
    expect(bash.stdout).not.toContain("reached");
    expect(bash.stdout).not.toContain("eth");
  });

  test.skipIf(!hasPython)(
    "keys, namespaces, debuggers, odd sockets and memory of nobody's are out of reach",
    async () => {
      const script = [
        "import ctypes, socket",
        "c = ctypes.CDLL(None, use_errno=True)",
        "def call(name):",
        "  c.syscall.restype = ctypes.c_long",
        "  print(name, c.syscall(numbers[name], 0, 0, 0, 0, 0), ctypes.get_errno())",
        "import platform",
        "numbers = dict(keyctl=250, bpf=321, io_uring_setup=425, unshare=272, ptrace=101, pidfd_getfd=438, syslog=103, memfd_create=319, shmget=29, semget=64, msgget=68) if platform.machine() == 'x86_64' else dict(keyctl=219, bpf=280, io_uring_setup=425, unshare=97, ptrace=117, pidfd_getfd=438, syslog=116, memfd_create=279, shmget=194, semget=190, msgget=186)",
        "for name in numbers: call(name)",
        "import os",
        "try:",
        "  os.open('/tmp/t', os.O_CREAT | os.O_WRONLY, 0o4755); print('set-id')",
        "except OSError as e: print('set-id', e.errno)",
        "print('open', os.open('/tmp/t', os.O_CREAT | os.O_WRONLY, 0o755) > 2)",
        "try:",
        "  socket.socket(40, 1); print('vsock')",
        "except OSError as e: print('vsock', e.errno)",
        "socket.socket(socket.AF_UNIX)",
        "print('unix')",
      ].join("\n");
      const { stdout } = await opened().run("python3 -", { stdin: script });
      expect(stdout.trim().split("\n")).toEqual([
        "keyctl -1 1",
        "bpf -1 1",
        "io_uring_setup -1 1",
        "unshare -1 1",
        "ptrace -1 1",
        "pidfd_getfd -1 1",
        "syslog -1 1",
        "memfd_create -1 1",
        "shmget -1 1",
        "semget -1 1",
        "msgget -1 1",
        "set-id 1",
        "open True",
        "vsock 1",
        "unix",
      ]);
    },
  );

  test("what names the host's folders is not among the arguments of a process that it sees", async () => {
    const data = folder();
    const { stdout } = await opened({ mounts: { "/data": { path: data, mode: "ro" } } }).run(
      "cat /proc/*/cmdline /proc/*/environ",
    );
    expect(stdout).not.toContain(data);
  });
});

/** Longer than a slow machine needs until a command has taken too much. */
const LONG_MS = 200_000;

describe.skipIf(noJail !== undefined)(`a command that takes more than its share (${noJail ?? "in bubblewrap"})`, () => {
  test("of processes is ended, or gets no more of them", async () => {
    // One that doubles with each step could reach the limits of a machine that runs other tests as well.
    const command = "for i in $(seq 5000); do sleep 20 & done; wait";
    const answer = await opened().run(command, { timeoutMs: LONG_MS });
    expect(answer.excess === "processes" || answer.stderr.includes("fork")).toBe(true);
  });

  test.skipIf(!hasPython)("of memory is ended, however many processes hold it", async () => {
    const script = "import time; x = b'x' * 150_000_000; time.sleep(200)";
    const command = `for i in 1 2 3 4 5; do python3 -c "${script}" & done; wait`;
    expect((await opened().run(command, { timeoutMs: LONG_MS })).excess).toBe("memory");
  });

  test.skipIf(!hasPython)("of addresses gets none", async () => {
    const answer = await opened().run("python3 -c 'import mmap; mmap.mmap(-1, 5 << 30)'");
    expect(answer.stderr).toContain("Cannot allocate memory");
  });

  test("of files is ended, though each is empty", async () => {
    const command = "cd /tmp; i=0; while :; do mkdir -p $i/a/b/c/d/e/f/g/h $i/b/c/d/e/f/g/h/i; i=$((i+1)); done";
    const quick = "seq 200000 | xargs -n 2000 mkdir";
    const answer = await opened().run(`(cd /home; ${quick}); ${command}`, { timeoutMs: LONG_MS });
    expect(answer.excess).toBe("files");
  });

  test("of a file's length is ended by a signal", async () => {
    const data = folder();
    chmodSync(data, 0o777);
    const { run } = opened({ mounts: { "/data": { path: data, mode: "rw" } } });
    const answer = await run("head -c 200000000 /dev/zero >/data/big");
    expect(answer.exitCode).not.toBe(0);
    expect(readFileSync(path.join(data, "big")).length).toBeLessThanOrEqual(64 * 1024 * 1024);
  });
});

describe.skipIf(noJail !== undefined)(`a mount (${noJail ?? "in bubblewrap"})`, () => {
  test("that may be read may not be written", async () => {
    const data = folder();
    writeFileSync(path.join(data, "x"), "content");
    const { run } = opened({ mounts: { "/data": { path: data, mode: "ro" } } });
    expect((await run("cat /data/x; (echo new >/data/x) 2>/dev/null || echo refused; rm -f /data/x")).stdout).toBe(
      "contentrefused\n",
    );
    expect(readFileSync(path.join(data, "x"), "utf8")).toBe("content");
  });

  test("that may be written is the host's folder", async () => {
    const data = folder();
    await opened({ mounts: { "/data": { path: data, mode: "rw" } } }).run("echo new >/data/x");
    expect(readFileSync(path.join(data, "x"), "utf8")).toBe("new\n");
  });

  test("has no links that lead out of it", async () => {
    const data = folder();
    const outside = folder();
    writeFileSync(path.join(outside, "secret"), "secret");
    symlinkSync(path.join(outside, "secret"), path.join(data, "link"));
    const { stdout } = await opened({ mounts: { "/data": { path: data, mode: "ro" } } }).run("cat /data/link");
    expect(stdout).toBe("");
  });

  test("gets no programs that run as whoever they belong to outside", async () => {
    const data = folder();
    const { run } = opened({ mounts: { "/data": { path: data, mode: "rw" } } });
    const commands = [
      "chmod 4755 /data/x",
      "chmod 2755 /data/x",
      "chmod u+s /data/x",
      "install -m 4755 /data/x /data/y",
      "mkdir -m 2755 /data/z",
    ];
    for (const command of commands) expect((await run(`touch /data/x; ${command}`)).exitCode).not.toBe(0);
    expect(
      (await run("chmod 755 /data/x && mkdir -m 700 /data/d && install -m 600 /data/x /data/w; ls /data")).exitCode,
    ).toBe(0);
    const modes = readdirSync(data).map((name) => statSync(path.join(data, name)).mode & 0o6000);
    expect(modes.every((mode) => mode === 0)).toBe(true);
  });

  test("whose folder is gone is no command's, and nobody is told its name", async () => {
    const data = folder();
    const { run } = opened({ mounts: { "/data": { path: data, mode: "ro" } } });
    rmSync(data, { recursive: true });
    expect(await refusedWith(run("ls /data"))).toBe("it could not be started");
  });
});
