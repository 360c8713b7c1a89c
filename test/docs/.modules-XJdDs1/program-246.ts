import { createEngine } from "glovebox";

await using engine = await createEngine({ workers: 1 });
await engine.register({
  name: "wait",
  description: "Waits for a while.",
  source: `export default async ({ ms }, { progress }) => {
    progress(1, 2, "waiting");
    await new Promise((done) => setTimeout(done, ms));
    return "done";
  }`,
});

const slow = { name: "wait", arguments: { ms: 5_000 } };
console.log((await engine.execute(slow, { limits: { wallMs: 50 } })).error?.code); // prints: wall_limit
console.log((await engine.execute(slow, { signal: AbortSignal.timeout(50) })).error?.code); // prints: cancelled
const quick = { name: "wait", arguments: { ms: 1 } };
const onProgress = ({ progress, total, message }: { progress: number; total?: number; message?: string }) =>
  console.log(progress, total, message); // prints: 1 2 waiting
console.log((await engine.execute(quick, { onProgress })).output); // prints: done
