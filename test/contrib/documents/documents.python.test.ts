import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { temporaryFolder } from "../../kernel/tool/temporary.ts";
import { documentText, PYTHON_MS, PythonBench } from "../../python/bench.ts";
import { AGENTSPACE } from "./agentspace.ts";
import { AMPLIFIER_CONTRACT } from "./amplifier-contract.ts";
import { AMPLIFIER_GUIDE } from "./amplifier-guide.ts";
import { type Block, blocksIn } from "./block.ts";
import { STRANDS } from "./strands.ts";
import { XAIBO } from "./xaibo.ts";

/** A folder with the five documents, each under its name in the tables. */
const FOLDER = process.env["GLOVEBOX_DOCUMENTS"];
const DOCUMENTS = [AMPLIFIER_CONTRACT, AMPLIFIER_GUIDE, AGENTSPACE, STRANDS, XAIBO];

let bench: PythonBench;

beforeAll(async () => {
  if (FOLDER !== undefined) bench = await PythonBench.open();
}, PYTHON_MS);
afterAll(() => bench?.[Symbol.asyncDispose]());

describe("the tables of the documents' blocks", () => {
  const numbered = DOCUMENTS.flatMap(({ file, blocks }) =>
    blocks.map((block, at) => ({ ...block, file, number: at + 1 })),
  );

  test("say of each block that it runs, alone or within a later one, that it is read, or why neither", () => {
    const unclear = numbered.filter(({ is, why, run, within, number }) =>
      is === "none" ? why === undefined || run !== undefined : run === undefined && !(Number(within) > number),
    );
    expect(unclear).toEqual([]);
  });

  test("have 80 blocks in five documents", () => {
    const countOf = (kind: Block["is"]): number => numbered.filter(({ is }) => is === kind).length;
    expect({ program: countOf("program"), input: countOf("input"), none: countOf("none") }).toEqual({
      program: 49,
      input: 16,
      none: 15,
    });
  });

  test("are not accepted where a block is missing, or where a document has code in no block", async () => {
    const block = { starts: "def one", ends: "return 1", is: "none", why: "a test" } as const;
    const read = async (text: string, isFenced = false, blocks: readonly Block[] = [block]): Promise<unknown> =>
      blocksIn(await temporaryFolder({ "a.md": text }), { file: "a.md", isFenced, blocks });
    const program = "def one():\n    return 1";
    expect(await read(`Words.\n\n${program}\n\nMore words.`)).toEqual([program]);
    await expect(read("Words alone.")).rejects.toThrow("there is no block");
    await expect(read(`${program}\n\nimport os\n`)).rejects.toThrow('the line "import os" is in no block');
    const fenced = `\`\`\`python\n${program}\n\`\`\`\n`;
    expect(await read(fenced, true)).toEqual([`${program}\n`]);
    await expect(read(`${fenced}\n${fenced}`, true)).rejects.toThrow("a.md: block 2");
    await expect(read(fenced, true, [block, block])).rejects.toThrow("a.md has 1 blocks, and its table 2");
  });
});

describe.skipIf(FOLDER === undefined)("the documents of GLOVEBOX_DOCUMENTS", () => {
  describe.each(DOCUMENTS)("$file", (document) => {
    const texts = FOLDER === undefined ? [] : blocksIn(join(FOLDER), document);
    const blocks = document.blocks.map((block, at) => ({ ...block, number: at + 1, text: texts[at] ?? "" }));

    test("has each block in its table, and no code beside them", () => {
      expect(texts).toHaveLength(document.blocks.length);
    });

    test.each(blocks.filter(({ fixture }) => fixture !== undefined))(
      "block $number is $fixture",
      ({ text, fixture = "" }) => {
        expect(documentText(fixture).trim()).toBe(text.trim());
      },
    );

    for (const { number, is, starts, text, run } of blocks) {
      if (run === undefined) continue;
      const [line = ""] = starts.split("\n");
      test(
        `block ${number} ${is === "input" ? "is read" : "runs"}: ${line}`,
        () => run(text, { bench, texts }),
        PYTHON_MS,
      );
    }
  });
});
