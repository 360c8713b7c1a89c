import { writeFile } from "node:fs/promises";
import { createEngine } from "glovebox";

await writeFile(
  "letters.py",
  `from strands import tool, ToolContext

@tool(context=True)
def count_letter(word: str, letter: str, tool_context: ToolContext, limit: int | None = None) -> int:
    """Counts a letter in a word.

    Args:
        word: The word to search
        letter: The letter to count
    """
    return word.count(letter)
`,
);
await using engine = await createEngine({ workers: 1, tools: ["letters.py"] });
console.log(engine.list().map(({ name, description }) => `${name}: ${description}`)); // prints: [ 'count_letter: Counts a letter in a word.' ]
console.log((await engine.execute({ name: "count_letter", arguments: { word: "glovebox", letter: "o" } })).output); // prints: 2
