import { spawn } from "node:child_process";
import { once } from "node:events";
import { createEngine } from "glovebox";

const url = process.env["REDIS_URL"] ?? "redis://127.0.0.1:6379";
const CALLS = Array.from({ length: 20 }, (_, value) => value);

// On real machines each of them runs this command. Port 0: both are on one machine here, and each has its own /metrics.
const machines = [1, 2].map(() => spawn("glovebox", ["worker", "--redis", url, "--port", "0"], { stdio: "ignore" }));

const engine = await createEngine({ executor: { kind: "queue", url }, tools: ["./tools"] });
const seen = () => engine.stats().executor.fleet?.machines ?? 0;
while (seen() < machines.length) await new Promise((resolve) => setTimeout(resolve, 50));
console.log(`${seen()} machines`);

const call = (value: number) => engine.execute({ name: "square", arguments: { value } });
const all = Promise.all(CALLS.map(call));

// One machine leaves while calls run. It ends its calls, and the other one takes what comes.
const [first, second] = machines;
first?.kill("SIGTERM");
const results = await all;
console.log(`${results.filter(({ success }) => success).length} of ${CALLS.length} calls succeeded`);
console.log(results.slice(0, 5).map(({ output }) => output));
if (first !== undefined && first.exitCode === null) await once(first, "exit");
console.log((await call(12)).output);

await engine.close();
second?.kill("SIGTERM");
