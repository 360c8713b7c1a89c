import { createHash, createHmac, getHashes } from "node:crypto";
import { expect, test } from "vitest";
import { openRealm } from "./in-realm.ts";

const LENGTHS = [0, 1, 31, 32, 55, 56, 63, 64, 65, 111, 112, 127, 128, 129, 300];
const textOf = (length: number): string => "a text é".repeat(40).slice(0, length);

/** All digests of all lengths, with hashes that run at the same time, are copied, or are never finished. */
const DIGESTS = `({ algorithms, texts }) => {
  const { createHash, createHmac } = __node.require("crypto");
  return algorithms.map((algorithm) => {
    createHash(algorithm).update("never finished");
    const running = texts.map((text) => createHash(algorithm).update(text));
    const copies = running.map((hash, at) => hash.copy().update(texts[at]));
    const keyed = texts.map((key) => createHmac(algorithm, key).update("a").update(key));
    return [...running, ...copies, ...keyed].map((hash) => hash.digest("hex"));
  });
}`;

test("hashes inside an isolate are those of OpenSSL, also when their memory is used again", async () => {
  const known = new Set(getHashes());
  using realm = await openRealm(`() => __node.require("crypto").getHashes()`);
  const shakes = ["shake128", "shake256"];
  const algorithms = (realm.call() as string[]).filter((name) => known.has(name) && !shakes.includes(name));
  expect(algorithms.length).toBeGreaterThan(15);
  const texts = LENGTHS.map(textOf);
  const expected = algorithms.map((algorithm) => [
    ...texts.map((text) => createHash(algorithm).update(text).digest("hex")),
    ...texts.map((text) => createHash(algorithm).update(text).update(text).digest("hex")),
    ...texts.map((text) => createHmac(algorithm, text).update("a").update(text).digest("hex")),
  ]);
  using tool = await openRealm(DIGESTS);
  for (let call = 0; call < 3; call++) expect(tool.call({ algorithms, texts })).toEqual(expected);
});

test("a hash gives its digest in each form, once", async () => {
  using realm = await openRealm(`() => {
    const { createHash, createHmac } = __node.require("crypto");
    const hash = createHash("sha256").update("a");
    const whole = hash.digest();
    const told = (act) => { try { return act(); } catch (error) { return error.code ?? error.message; } };
    return [
      __node.Buffer.isBuffer(whole), whole.toString("hex"), told(() => hash.digest()), told(() => hash.update("a")),
      createHmac("sha1", "key").update("a").digest("base64url"), createHash("shake128", { outputLength: 8 }).digest("hex"),
      told(() => createHash("md6")), told(() => createHmac("shake128", "a")), told(() => createHash("md5").digest("rot13")),
    ];
  }`);
  const again = createHash("sha256").update("a").digest("hex");
  const shaken = createHash("shake128", { outputLength: 8 }).digest("hex");
  const keyed = createHmac("sha1", "key").update("a").digest("base64url");
  const finalized = "ERR_CRYPTO_HASH_FINALIZED";
  const refused = ["ERR_OSSL_EVP_UNSUPPORTED", "ERR_CRYPTO_INVALID_DIGEST", "ERR_UNKNOWN_ENCODING"];
  expect(realm.call()).toEqual([true, again, finalized, finalized, keyed, shaken, ...refused]);
});

test("a hash gives nothing out that goes on when its memory is used for another one", async () => {
  using realm = await openRealm(`() => {
    const { createHash, createHmac } = __node.require("crypto");
    const known = ["constructor", "copy", "digest", "end", "read", "update", "write"];
    // Its base makes a stream of it, by two of its own members that take a chunk and give the digest.
    const base = Object.getPrototypeOf(Object.getPrototypeOf(Object.getPrototypeOf(createHash("sha256"))));
    const namesOf = (object) => (object === base ? [] : [...Reflect.ownKeys(object), ...namesOf(Object.getPrototypeOf(object))]);
    const names = [createHash("sha256"), createHmac("sha256", "a")].flatMap(namesOf).map(String);
    return names.filter((name) => ![...known, "Symbol(take)", "Symbol(last)"].includes(name));
  }`);
  expect(realm.call()).toEqual([]);
});
