import { createEngine, unwrap } from "glovebox";
import { prices } from "./plugin.ts";

await using engine = await createEngine({ workers: 1, plugins: [prices], tools: ["./tools"] });
const { name, runtime, description } = engine.get("shop") ?? {};
console.log(`${name}, in ${runtime}: ${description}`);
console.log(unwrap(await engine.execute({ name: "shop", arguments: { items: ["eggs", "flour"] } })));
console.log((await engine.execute({ name: "shop", arguments: { items: ["gold"] } })).error?.code);
