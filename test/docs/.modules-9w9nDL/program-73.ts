import { createEngine } from "glovebox";

await using engine = await createEngine({ workers: 1 });
await engine.register({ name: "add", description: "Adds.", source: "export default ({ a, b }) => a + b" });
engine.on("tool:pre", (event) => {
  if (event.tenant === "blocked-inc") event.block("this tenant has not paid");
});
engine.on("tool:error", ({ tool, result }) => console.log(tool, result.error?.code));
// prints: add blocked
await engine.execute({ name: "add", arguments: { a: 1, b: 2 } }, { tenant: "blocked-inc" });
