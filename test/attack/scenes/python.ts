import { PATIENT_MS } from "../plan.ts";
import { ask, settled, wordsOf } from "../stage.ts";
import type { Scene } from "./scene.ts";

const LIMITS = { cpuMs: 10_000, wallMs: PATIENT_MS };
const TRIES_MAX = 50;

/** Keeps what it is given, or looks for it in all of the interpreter's memory. */
const SCANNER = `import ctypes, gc
kept = []
def execute(input):
  if "keep" in input:
    gc.kept = [input["keep"] + str(i) for i in range(1000)]
    return "kept"
  needle = bytes.fromhex(input["find"])[::-1]
  page = 65536
  found = 0
  for at in range(page, 480 * page, page):
    found += ctypes.string_at(at, page).count(needle)
  return found
`;
/** What looks for it has it a few times itself. */
const NEEDLES_MAX = 10;
const MARKER = "marker-of-one-tenant";

/** Attacks on what shares a worker, or an interpreter, with the attacker. */
export const SCENES: readonly Scene[] = [
  {
    name: "a tenant's texts in the memory of another's interpreter",
    act: async (stage, harm) => {
      const tool = await stage.put(SCANNER, { runtime: "python", limits: LIMITS });
      const find = Buffer.from(MARKER).reverse().toString("hex");
      let own: unknown;
      // Which worker a call meets depends on what else runs, and each has an interpreter of the tenant's.
      for (let tries = 0; !(Number(own) >= 1000) && tries < TRIES_MAX; tries++) {
        await ask(stage, tool, "a", { keep: MARKER });
        own = await ask(stage, tool, "a", { find });
      }
      if (!(Number(own) >= 1000)) harm.push(`its own interpreter: ${JSON.stringify(own)}`);
      const others = await ask(stage, tool, "b", { find });
      if (!(Number(others) < NEEDLES_MAX)) harm.push(`another's interpreter: ${JSON.stringify(others)}`);
      await stage.engine.unregister(tool);
      const later = await stage.put(SCANNER, { runtime: "python", limits: LIMITS });
      const found = await ask(stage, later, "b", { find });
      if (!(Number(found) < NEEDLES_MAX)) harm.push(`a later interpreter: ${JSON.stringify(found)}`);
    },
  },
  {
    name: "memory from which all interpreters begin, overwritten by one tenant",
    act: async (stage, harm) => {
      const source = `import json, pyodide_js
def execute(input):
  if not input["write"]:
    return json.dumps(["as ever", 1.5])
  script = pyodide_js.runPython.constructor
  return script("py", "const { _loadSnapshot: start } = py._api.config; return new Uint8Array(start.buffer).fill(65).length")(pyodide_js)
`;
      const tool = await stage.put(source, { runtime: "python", limits: LIMITS });
      for (const tenant of ["a", "b"]) {
        const written = await ask(stage, tool, tenant, { write: true });
        if (!(Number(written) > 0)) harm.push(`nothing was written: ${JSON.stringify(written)}`);
      }
      // One of them stood by before.
      const tenants = Array.from({ length: 6 }, (_, at) => `later-${at}`);
      for (const tenant of tenants) {
        const output = await ask(stage, tool, tenant, { write: false });
        if (output !== '["as ever", 1.5]') harm.push(`${tenant}: ${JSON.stringify(output)}`);
      }
    },
  },
  {
    name: "calls of the same tool that wait while another ends their interpreter",
    act: async (stage, harm) => {
      const source = `import os, time
def execute(input):
  time.sleep(0.05 if input["hostile"] else 0.4)
  if input["hostile"]: os.abort()
  return input["n"]
`;
      const tool = await stage.put(source, { runtime: "python", limits: LIMITS });
      const calm = Array.from({ length: 5 }, (_, n) => ask(stage, tool, "a", { n, hostile: false }));
      const wild = await Promise.all([0, 1].map((n) => ask(stage, tool, "a", { n, hostile: true })));
      if (wild.join() !== "tool_error,tool_error") harm.push(`the wild calls: ${JSON.stringify(wild)}`);
      const answers = await Promise.all(calm);
      if (answers.join() !== "0,1,2,3,4") harm.push(`the calm calls: ${JSON.stringify(answers)}`);
    },
  },
  {
    name: "an interpreter that one tenant spoils, and another tenant's calls of the same tool",
    act: async (stage, harm) => {
      const source = `import builtins, json, sys
def execute(input):
  if input["spoil"]:
    json.dumps = lambda *a, **k: "1"
    sys.meta_path.clear()
    sys.settrace(lambda *a: None)
    builtins.len = lambda *a: 666
    sys.stdout = None
    return "spoiled"
  print("heard")
  return [len([1]), json.dumps([1]), len(sys.meta_path) > 1]
`;
      const tool = await stage.put(source, { runtime: "python", limits: LIMITS });
      await ask(stage, tool, "a", { spoil: true });
      const other = await ask(stage, tool, "b", { spoil: false });
      if (JSON.stringify(other) !== '[1,"[1]",true]') harm.push(`another tenant: ${JSON.stringify(other)}`);
      const result = await settled(stage.engine.execute({ name: tool, arguments: { spoil: false } }, { tenant: "b" }));
      if (result?.metadata.logs?.[0]?.message !== "heard") harm.push(`another tenant's log: ${wordsOf(result)}`);
    },
  },
];
