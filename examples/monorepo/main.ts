import { createEngine } from "glovebox";

await using engine = await createEngine({ tools: ["packages/agent/tools"], workers: 1 });

for (const currency of ["CHF", "USD"]) {
  const { output } = await engine.execute({ name: "convert", arguments: { cents: 1234, currency } });
  console.log(output);
}
