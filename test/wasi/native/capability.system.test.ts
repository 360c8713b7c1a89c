import { readFile } from "node:fs/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import { LimitReached, type OpenCall } from "../../../src/kernel/broker/capabilities/capability.ts";
import { Binaries, KEPT_MAX } from "../../../src/kernel/broker/binaries.ts";
import { NATIVE_LIMITS } from "../../../src/wasi/native/methods.ts";
import { createNative, type NativeOptions } from "../../../src/wasi/native/native.ts";
import { refusedWith } from "../../kernel/broker/capabilities/exec/opened.ts";

const LIMITS = { wallMs: 1_000, cpuMs: 1_000, memoryMb: 64, outputBytes: 1_000 };

function newBinaries(): Binaries {
  const binaries = new Binaries();
  onTestFinished(() => binaries.close());
  return binaries;
}

/** Runs the binary of a call, as the capability does for it. */
function run(argument: string, options: NativeOptions) {
  const call: OpenCall = {
    callId: "c",
    tool: "t",
    signal: new AbortController().signal,
    callTool: () => Promise.reject(new Error("there are no other tools")),
    grantsOf: () => [],
    binary: { file: "h", limits: LIMITS },
  };
  return Promise.try(async () => createNative(options).open(call, [true]).invoke("run", { argument }, 1));
}

const noJail = { findJail: () => Promise.resolve({ reason: "bubblewrap is not installed" }) };

describe("a binary", () => {
  test("is never run where there is no sandbox, and says what to install", async () => {
    const said = await refusedWith(run("{}", noJail));
    expect(said).toContain("denied: binaries cannot run on this host: bubblewrap is not installed; install bubblewrap");
  });

  test("that could not be started has failed, without what the system says of the host", async () => {
    const start = () => Promise.reject(new Error("spawn /usr/bin/bwrap EAGAIN"));
    const said = await refusedWith(run("{}", { findJail: () => Promise.resolve({ start }) }));
    expect(said).toBe("it could not be started");
  });

  test("is given an argument that the system takes, by its bytes [C72]", async () => {
    const most = NATIVE_LIMITS.argumentBytes;
    expect(await refusedWith(run("é".repeat((most - 1) / 2), noJail))).toContain("denied");
    for (const argument of ["é".repeat((most + 1) / 2), "a\0b"]) {
      const error: unknown = await run(argument, noJail).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(LimitReached);
      expect(error).toMatchObject({ code: "input_too_large" });
    }
  });

  test("is granted or not, and there is nothing else to say of it", () => {
    const { grants } = createNative();
    expect(grants.read(true, "policy")).toBe(true);
    for (const odd of [{ wallMs: 1 }, "yes", 1, []]) expect(() => grants.read(odd, "policy")).toThrow(/^: is true/);
    expect(grants.uncovered(true, [])).toEqual([{ pointer: "", asked: "the capability" }]);
    expect(grants.uncovered(true, [true])).toEqual([]);
  });
});

describe("the files of binaries", () => {
  test("are bounded together", async () => {
    const binaries = newBinaries();
    const keeping = Array.from({ length: KEPT_MAX + 1 }, (_, at) =>
      binaries.keep(`${at}`, `hash-${at}`, Buffer.from([1])),
    );
    const settled = await Promise.allSettled(keeping);
    expect(settled.filter(({ status }) => status === "rejected")).toHaveLength(1);
    await expect(binaries.keep("large", "large", Buffer.alloc(1))).rejects.toMatchObject({ code: "load_error" });
    binaries.forget("0");
    await binaries.keep("large", "large", Buffer.alloc(1));
  });

  test("stay while one of them runs, and are written again where one comes back", async () => {
    const binaries = newBinaries();
    await binaries.keep("1", "h", Buffer.from("x"));
    const held = binaries.hold("h");
    binaries.forget("1");
    expect(() => binaries.hold("h")[Symbol.dispose]()).not.toThrow();
    held[Symbol.dispose]();
    expect(() => binaries.hold("h")).toThrow("was removed");
    await binaries.keep("2", "h", Buffer.from("x"));
    binaries.hold("h")[Symbol.dispose]();
    expect(() => binaries.forget("of no binary")).not.toThrow();
  });

  test("leave nothing in the way of who tries again where they could not be written to their end", async () => {
    const binaries = newBinaries();
    async function* breaksOff(): AsyncGenerator<Uint8Array> {
      yield Buffer.from("half");
      throw new Error("no space is left");
    }
    const content = Object.assign(breaksOff(), { length: 8 }) as unknown as Uint8Array;
    await expect(binaries.keep("1", "h", content)).rejects.toMatchObject({ code: "load_error" });
    await binaries.keep("2", "h", Buffer.from("x"));
    using held = binaries.hold("h");
    expect(await readFile(held.path, "utf8")).toBe("x");
  });

  test("are refused where the engine is closed", async () => {
    const binaries = newBinaries();
    await binaries.close();
    await expect(binaries.keep("1", "h", Buffer.from("x"))).rejects.toMatchObject({ code: "engine_closed" });
  });
});
