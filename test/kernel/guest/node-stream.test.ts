import { expect, test } from "vitest";
import { openRealm } from "./in-realm.ts";

test("The two streams of a duplexPair give what the other is given, and write no faster than that is read", async () => {
  using realm = await openRealm(`async () => {
    const { duplexPair } = __node.require("stream");
    const [a, b] = duplexPair({ encoding: "utf8" });
    const order = [];
    a.write("1".repeat(300_000), () => order.push("1 taken"));
    a.write("", () => order.push("nothing taken"));
    a.end("2");
    b.end("3");
    await new Promise((resolve) => { __node.process.nextTick(resolve); });
    const early = [...order];
    const read = async (from) => { const all = []; for await (const chunk of from) all.push(chunk); return all.join("").replace(/1+/, (ones) => ones.length + ","); };
    return { early, texts: [await read(b), await read(a)], order };
  }`);
  expect(realm.call()).toEqual({ early: [], texts: ["300000,2", "3"], order: ["1 taken", "nothing taken"] });
});
