/** A tool with the names of `node:domain`, which replaces `EventEmitter.prototype.emit` once it is loaded. */
import { EventEmitter } from "node:events";
import { createEngine } from "../../../../src/glovebox/index.ts";

const emit = (): unknown => Reflect.get(EventEmitter.prototype, "emit");
const before = emit();
await using engine = await createEngine({ executor: "threads", workers: 1 });
const source = `import { create } from "node:domain"; export default () => typeof create;`;
await engine.register({ name: "named", description: "Has Node's names.", source });
const { output } = await engine.execute({ name: "named", arguments: {} });
console.log(output, emit() === before);
