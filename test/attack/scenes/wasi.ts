import { PATIENT_MS } from "../plan.ts";
import { settled, type Stage, wordsOf } from "../stage.ts";
import type { Scene } from "./scene.ts";

const LIMITS = { memoryMb: 32, wallMs: PATIENT_MS };
/** Together more than the process may have. */
const HUNGRY_CALLS = 150;
/** What it can be told to do: each function, with some values for a file and some for all else. */
const WILD_CALLS = 46 * 5 * 5;
const TABLE_ENTRIES_MAX = 131;

/** Has the program of hazards do something, and notes as harm what did not end as it should. */
function does(what: string, ends: RegExp): Scene["act"] {
  return async (stage, harm) => {
    const tool = await stage.putCommand("hazards", { limits: LIMITS });
    await expectEnd(stage, harm, tool, what, ends);
    // What went before has left nothing.
    await expectEnd(stage, harm, tool, "leave", /^ok {"found":false}$/);
    await stage.engine.unregister(tool);
  };
}

async function expectEnd(stage: Stage, harm: string[], name: string, what: string, ends: RegExp): Promise<void> {
  const result = await settled(stage.engine.execute({ name, arguments: { do: what } }));
  const { error, output } = result ?? {};
  const end = error ? `${error.code} ${error.message}` : result && `ok ${JSON.stringify(output)}`;
  if (end === undefined || !ends.test(end)) harm.push(`${what}: ${wordsOf(result)}`);
}

/** What machine code can do that JavaScript cannot, and what it does to WASI. */
export const SCENES: readonly Scene[] = [
  { name: "a command that loops for ever", act: does("loop", /^cpu_limit/) },
  { name: "a command that sleeps for ever", act: does("sleep", /^cpu_limit/) },
  { name: "a command that takes all memory that there is", act: does("memory", /^ok {"refused":true}$/) },
  {
    name: "commands that take all memory that they may, one after the other",
    act: async (stage, harm) => {
      const tool = await stage.putCommand("hazards", { limits: { ...LIMITS, cpuMs: 20_000 } });
      for (let call = 0; call < HUNGRY_CALLS; call++) {
        await expectEnd(stage, harm, tool, "memory", /^ok {"refused":true}$/);
      }
      await stage.engine.unregister(tool);
    },
  },
  {
    name: "a command that lets a table grow without end",
    act: async (stage, harm) => {
      const tool = await stage.putCommand("table", { limits: LIMITS });
      await expectEnd(stage, harm, tool, "", new RegExp(`exit code ${TABLE_ENTRIES_MAX}\\b`));
      await stage.engine.unregister(tool);
    },
  },
  { name: "a command that recurses in its own stack", act: does("recursion", /^tool_error .*out of bounds/) },
  { name: "a command that recurses in V8's stack", act: does("stack", /^tool_error .*its stack is full/) },
  { name: "a command that traps", act: does("trap", /^tool_error .*unreachable: stderr: about to trap/) },
  { name: "a command that reads outside of its memory", act: does("bounds", /^tool_error .*out of bounds/) },
  { name: "a command that prints without end", act: does("flood", /^cpu_limit/) },
  { name: "a command that writes a file without end", act: does("file", /^tool_error .*No space left/) },
  { name: "a command that makes files without end", act: does("files", /^ok {"refused":true}$/) },
  { name: "a command whose files are long and empty", act: does("holes", /^ok {"refused":true}$/) },
  { name: "a command that looks for the host's files", act: does("escape", /^ok {"escaped":false}$/) },
  {
    name: "functions of WASI that get what is no address, no length and no file",
    act: async (stage, harm) => {
      const tool = await stage.putCommand("wild", { limits: { ...LIMITS, cpuMs: 2_000 } });
      for (let n = 0; n < WILD_CALLS; n++)
        await expectEnd(stage, harm, tool, String(n), /^(?:tool_error|cpu_limit|memory_limit)/);
      await stage.engine.unregister(tool);
    },
  },
];
