import { expect, test } from "vitest";
import { temporaryFolder } from "../kernel/tool/temporary.ts";
import { glovebox } from "./command.ts";

test("an error of a Python module ends with the author's own line, at a path of the author's", async () => {
  const folder = await temporaryFolder({
    "broken.py": 'spec = {"name": "broken", "description": "x"}\ndef execute(input):\n    return 1 / 0\n',
  });
  const { code, stderr } = await glovebox(folder, ["run", "./broken.py"]);
  expect([code, stderr]).toEqual([1, expect.stringMatching(/\n {2}at broken\.py:3\n {2}3 \| {5}return 1 \/ 0\n$/)]);
});
