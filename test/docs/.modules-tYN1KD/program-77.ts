import { createEngine } from "glovebox";

const allow = { fs: { notes: { path: ".", mode: "rw" } } } as const;
await using engine = await createEngine({ workers: 1, policy: { rules: [{ tools: ["*"], allow }] } });
await engine.register({
  name: "count",
  description: "Counts the words of a text, and keeps it.",
  runtime: "python",
  capabilities: { fs: { notes: { mode: "rw" } } },
  source: `
from pathlib import Path

def execute(input):
    Path("/notes/words.txt").write_text(input["text"])
    with open("/notes/words.txt") as file:
        return len(file.read().split())
`,
});
console.log((await engine.execute({ name: "count", arguments: { text: "one two three" } })).output); // prints: 3
