import util from "node:util";
import { runInThisContext } from "node:vm";
import { describe, expect, test } from "vitest";
import { openRealm } from "./in-realm.ts";

/** The result of a body in a realm, and in Node. */
async function inBoth(body: string): Promise<{ readonly here: unknown; readonly node: unknown }> {
  const text = `(util, input) => { const told = (act) => { try { return act(); } catch (error) { return [error.name, error.code, error.message]; } }; ${body} }`;
  using realm = await openRealm(`(input) => (${text})(__node.require("util"), input)`);
  const run = runInThisContext(text) as (util: unknown, input: unknown) => unknown;
  return { here: realm.call(null), node: JSON.parse(JSON.stringify(run(util, null))) as unknown };
}

const TYPES = [
  "text/html",
  "Text/HTML ; Charset=UTF-8",
  ' \ttext/plain;a="b\\"c" junk;b=;c="";a=2;d = e;=f;g;h="open\\',
  'a/b;x="y;z";ü=1;k="é";l="\u20ac";;m=n ',
  'a/b;q="a\\\\b";r="',
  "x",
  "/a",
  "a/",
  "a b/c",
  "a/b@",
  "",
];

describe("node:util in an isolate", () => {
  test("reads, changes and writes media types as Node does", async () => {
    const { here, node } = await inBoth(`
      const { MIMEType } = util;
      return ${JSON.stringify(TYPES)}.map((text) => told(() => {
        const type = new MIMEType(text), before = String(type);
        type.type = "X"; type.params.set("n", "v w"); type.params.delete("a");
        return [before, type.essence, [...type.params], JSON.stringify(type), type.params.get("a"), type.params.has("n")];
      }));`);
    expect(here).toEqual(node);
  });

  test("refuses parts of media types as Node does", async () => {
    const { here, node } = await inBoth(`
      const type = new util.MIMEType("a/b");
      return [() => (type.type = ""), () => (type.subtype = "@"), () => type.params.set("", "x"), () => type.params.set("x", "\\n")].map(told);`);
    expect(here).toEqual(node);
  });

  test("reads files of variables as Node does", async () => {
    const text = 'A=\nB=1\nexport C = "x\\ny" # c\nD=\'a\\nb\'\n#E=1\nF=a#b\nH=`q`\n I=3 \nL\nM="a\nb"\nN.o-p=1';
    const { here, node } = await inBoth(`return Object.entries(util.parseEnv(${JSON.stringify(text)})).sort();`);
    expect(here).toEqual(node);
  });

  // Node 24 loses it.
  test("reads a variable of the name __proto__ as any other", async () => {
    using realm = await openRealm(`() => Object.entries(__node.require("util").parseEnv("__proto__=1"))`);
    expect(realm.call()).toEqual([["__proto__", "1"]]);
  });
});

describe("A hash in an isolate", () => {
  test("has each member of a stream, also those that came later, and stays a hash", async () => {
    using realm = await openRealm(`async () => {
      const crypto = __node.require("crypto"), { Transform } = __node.require("stream");
      const hash = crypto.createHash("sha256");
      const fresh = [hash instanceof crypto.Hash, hash instanceof crypto.Hmac, "flatMap" in hash, "other" in hash, hash.other === undefined];
      const lacking = Object.getOwnPropertyNames(Transform.prototype).filter((name) => !(name in hash));
      hash.end("a");
      const parts = await hash.take(1).map((part) => part.toString("hex")).toArray();
      return { fresh, lacking, parts, after: [hash instanceof crypto.Hash, hash instanceof crypto.Hmac, hash instanceof Transform, {} instanceof crypto.Hash] };
    }`);
    expect(realm.call()).toEqual({
      fresh: [true, false, true, false, true],
      lacking: [],
      parts: ["ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"],
      after: [true, false, true, false],
    });
  });
});
