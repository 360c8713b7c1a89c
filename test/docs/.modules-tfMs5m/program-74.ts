import { createEngine } from "glovebox";

await using engine = await createEngine({ workers: 1, calls: { path: ":memory:", keep: "everything" } });
await engine.register({ name: "draw", description: "Draws.", source: "export default () => Math.random();" });
await engine.execute({ id: "first", name: "draw", arguments: {} });
await engine.execute({ id: "second", name: "draw", arguments: {} });

const replay = await engine.calls.replay("first");
console.log(replay?.verdict); // prints: same
const compared = await engine.calls.compare("first", "second");
console.log(compared?.differences[0]?.pointer); // prints: /output
