import { createEngine } from "../../../../src/glovebox/index.ts";

const USES: readonly ((pattern: RegExp, text: string) => unknown)[] = [
  (pattern, text) => pattern.test(text),
  (pattern, text) => text.replace(pattern, () => ""),
  (pattern, text) => text.match(pattern),
  (pattern, text) => text.split(pattern),
];

// A pattern for each use: the second use of a pattern decides how V8 runs it.
const patterns = USES.flatMap((use, at) =>
  ["", "g", "u", "y"].map((flags) => ({ use, pattern: new RegExp(`a(?:b|c)+, (?:${at}|[d-f]*)g`, flags) })),
);
const useAll = (): void => {
  for (const { use, pattern } of patterns) use(pattern, "() => engine.close()");
};

useAll();
const engine = await createEngine({ executor: "threads", workers: 1 });
useAll();
await engine.close();
process.stdout.write("used again");
