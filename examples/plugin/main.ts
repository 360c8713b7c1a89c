import { createEngine, unwrap } from "glovebox";
import { recipes } from "./plugin.ts";

await using engine = await createEngine({
  workers: 1,
  plugins: [recipes],
  tools: ["./tools"],
  policy: { rules: [{ tools: ["*"], allow: { pantry: true } }] },
});
const { name, contract, description } = engine.get("pancakes") ?? {};
console.log(`${name}, of the contract ${contract}: ${description}`);
console.log(JSON.stringify(unwrap(await engine.execute({ name: "pancakes", arguments: { guests: 4 } }))));
console.log((await engine.execute({ name: "pancakes", arguments: {} })).error?.code);
