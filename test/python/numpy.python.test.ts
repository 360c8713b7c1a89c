import { expect, onTestFinished, test } from "vitest";
import { createEngine } from "../../src/glovebox/index.ts";
import { newTree } from "../kernel/tool/package/opening.ts";

const PACKAGES = process.env["GLOVEBOX_PYODIDE_PACKAGES"];
const HOW =
  "of GLOVEBOX_PYODIDE_PACKAGES, a folder with numpy-…-cp314-cp314-pyemscripten_2026_0_wasm32.whl, such as Pyodide's distribution,";
const NUMPY_MS = 180_000;

const SOURCE = `
import numpy as np
spec = {"name": "algebra", "description": "Computes with arrays."}

def execute(data):
    if data.get("mebibytes"):
        return float(np.ones(data["mebibytes"] * 131072).sum())
    matrix = np.arange(10_000, dtype=float).reshape(100, 100)
    return {
        "product": float((matrix @ matrix.T).trace()),
        "solved": np.linalg.solve(np.array([[3.0, 1], [1, 2]]), np.array([9.0, 8])).tolist(),
        "spectrum": np.fft.fft(np.ones(4)).real.tolist(),
        "uniform": 0 <= float(np.random.default_rng(1).random()) < 1,
        "error": [str(caught) for caught in [failed(lambda: np.ones(2) + np.ones(3))]],
        "array": np.array([1, 2]),
    }

def failed(work):
    try:
        work()
    except ValueError as error:
        return error
`;

test.skipIf(PACKAGES === undefined)(
  `numpy ${HOW} computes, and its memory counts`,
  async () => {
    const engine = await createEngine({
      workers: 1,
      executor: "threads",
      limits: { cpuMs: 20_000, wallMs: 60_000, memoryMb: 128 },
      packages: { wheels: PACKAGES ?? "" },
    });
    onTestFinished(() => engine.close());
    await engine.register(await newTree({ "code/function.py": SOURCE, "code/requirements.txt": "numpy\n" }));
    const run = async (args: Record<string, unknown>) => engine.execute({ name: "algebra", arguments: args });
    expect(await run({})).toMatchObject({
      error: null,
      output: {
        product: 333283335000,
        solved: [2, 3],
        spectrum: [4, 0, 0, 0],
        uniform: true,
        error: ["operands could not be broadcast together with shapes (2,) (3,) "],
        array: [1, 2],
      },
    });
    expect((await run({ mebibytes: 1_000 })).error?.code).toBe("memory_limit");
    expect((await run({ mebibytes: 8 })).output).toBe(8 * 131_072);
  },
  NUMPY_MS,
);
