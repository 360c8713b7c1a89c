import { expect, test } from "vitest";
import { runProgram } from "../kernel/engine/program.ts";

const ENDS_MS = 300_000;

test.each(["threads", "process"])(
  "a process that ran Python tools on %s, and closed its engine, ends by itself",
  async (executor) => {
    const { stdout, stderr, code } = await runProgram("python", [executor], ENDS_MS);
    expect({ stderr, code, stdout }).toEqual({ stderr: "", code: 0, stdout: "[6,10]\n" });
  },
  ENDS_MS + 5_000,
);

test.each(["threads", "process"])(
  "a process whose engine is closed while Python loops on %s ends by itself",
  async (executor) => {
    const { stdout, stderr, code } = await runProgram("python", [executor, "loop"], ENDS_MS);
    expect({ stderr, code, stdout }).toEqual({ stderr: "", code: 0, stdout: "[6,10]\nengine_closed\n" });
  },
  ENDS_MS + 5_000,
);
