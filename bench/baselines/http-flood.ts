/** Bad requests for a server at `PORT`, from `CONCURRENCY` connections at once, until its parent has gone. */
import { connect } from "node:net";
import { drawBadRequest } from "../../test/load/bad-requests.ts";
import { Dice } from "../../test/load/dice.ts";

const SEED = 7;
const [port = 0, concurrency = 1] = process.argv.slice(2).map(Number);
const dice = new Dice(SEED);

function ask(): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: "127.0.0.1" });
    socket.on("error", () => undefined).resume();
    socket.once("close", () => resolve());
    socket.end(Buffer.concat(drawBadRequest(dice).parts));
  });
}

async function flood(): Promise<never> {
  for (;;) await ask();
}

process.once("disconnect", () => process.exit());
process.send?.("flooding");
await Promise.all(Array.from({ length: concurrency }, flood));
