import { createEngine } from "glovebox";

await using engine = await createEngine({ tools: ["./tools"], workers: 1 });

for (const { name, contract, description } of engine.list()) console.log(`${name} (${contract}): ${description}`);

async function call(name: string, args: Record<string, unknown>): Promise<void> {
  const { output, error } = await engine.execute({ name, arguments: args });
  console.log(name, error === null ? output : `${error.code}: ${error.message}`);
}

await call("weather", { location: "  Rome " });
await call("weather", { location: 7 });
await call("route", { stops: ["Rome", "Pisa", "Genoa"] });
// Each call has a fresh instance of the module.
await call("counter", {});
await call("counter", {});
