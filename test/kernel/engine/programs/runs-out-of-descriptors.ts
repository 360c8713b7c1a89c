/** Has a binary run where fewer and fewer descriptors are left, and says how each run ended. */
import { closeSync, openSync } from "node:fs";
import { devNull } from "node:os";
import { createEngine } from "../../../../src/glovebox/index.ts";

await using engine = await createEngine({
  workers: 1,
  executor: "threads",
  policy: { rules: [{ allow: { native: true } }] },
});
await engine.register({ name: "binary", description: "d", runtime: "native", entry: process.argv[2] ?? "" });
const run = async (): Promise<string> => {
  const { error } = await engine.execute({ name: "binary", arguments: { value: 1 } });
  return error?.code ?? "ok";
};
const ends: string[] = [await run()];
for (let left = 30; left >= 0; left -= 2) {
  using held = new DisposableStack();
  const hold = (): boolean => {
    try {
      const descriptor = openSync(devNull, "r");
      held.defer(() => closeSync(descriptor));
      return true;
    } catch {
      return false;
    }
  };
  const spared = Array.from({ length: left }, () => openSync(devNull, "r"));
  while (hold());
  for (const descriptor of spared) closeSync(descriptor);
  ends.push(await run());
}
ends.push(await run());
console.log(JSON.stringify(ends));
