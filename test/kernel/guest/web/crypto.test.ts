import { expect, test } from "vitest";
import { createCrypto } from "../../../../src/kernel/guest/web/crypto.ts";
import { DOMException, QuotaExceededError } from "../../../../src/kernel/guest/web/dom-exception.ts";
import { digest, inIsolate, randomBytes } from "./in-isolate.ts";

const ours = createCrypto({
  fill: (bytes) => bytes.set(randomBytes(bytes.length)),
  digest,
  further: () => ({
    sign: (...args) => args.length,
    digest: () => {
      throw new DOMException("unknown to this part as well", "NotSupportedError");
    },
  }),
  DOMException,
  QuotaExceededError,
});
const { subtle } = ours.crypto;

test("digest hashes like Node, whatever form data and algorithm have", async () => {
  const data = Uint8Array.from({ length: 20_000 }, (_, index) => index);
  for (const algorithm of ["SHA-1", "SHA-256", "sha-384", { name: "SHA-512" }]) {
    for (const input of [data, data.buffer, new DataView(data.buffer, 5), new Uint16Array(data.buffer, 2, 3)]) {
      const [own, nodes] = await Promise.all([subtle.digest(algorithm, input), crypto.subtle.digest(algorithm, input)]);
      expect(own).toBeInstanceOf(ArrayBuffer);
      expect(Buffer.from(own).equals(Buffer.from(nodes))).toBe(true);
    }
  }
});

test("changing the data after the call does not change the hash", async () => {
  const data = new Uint8Array(3);
  const hash = subtle.digest("SHA-256", data);
  data.fill(1);
  expect(new Uint8Array(await hash)).toEqual(new Uint8Array(await crypto.subtle.digest("SHA-256", new Uint8Array(3))));
});

test("digest rejects unknown algorithms, values that are not data, and too much data", async () => {
  await expect(subtle.digest("MD5", new Uint8Array())).rejects.toMatchObject({ name: "NotSupportedError" });
  await expect(subtle.digest("SHA-256", "text" as never)).rejects.toBeInstanceOf(TypeError);
  const large = new Uint8Array(16 * 1024 * 1024 + 1);
  await expect(subtle.digest("SHA-256", large)).rejects.toMatchObject({ name: "OperationError" });
});

test("the other methods of subtle are of the web's form, and come from another part", async () => {
  for (const name of [
    "encrypt",
    "decrypt",
    "sign",
    "verify",
    "generateKey",
    "importKey",
    "exportKey",
    "deriveBits",
    "deriveKey",
    "wrapKey",
    "unwrapKey",
  ]) {
    const method = Reflect.get(subtle, name) as () => Promise<unknown>;
    expect([method.name, method.length]).toEqual([name, (Reflect.get(crypto.subtle, name) as () => void).length]);
    await expect(method.call(subtle)).rejects.toThrow(TypeError);
  }
  await expect((Reflect.get(subtle, "sign") as (...args: number[]) => Promise<unknown>)(1, 2, 3)).resolves.toBe(3);
});

test("getRandomValues fills arrays of integers and gives them back", () => {
  for (const Class of [
    Int8Array,
    Uint8Array,
    Uint8ClampedArray,
    Int16Array,
    Uint16Array,
    Int32Array,
    Uint32Array,
    BigInt64Array,
    BigUint64Array,
  ]) {
    const array = new Class(4);
    expect(ours.crypto.getRandomValues(array)).toBe(array);
    expect([...new Uint8Array(array.buffer)]).toEqual([...randomBytes(array.byteLength)]);
  }
});

test("getRandomValues fills the part of the buffer that a view shows", () => {
  const bytes = new Uint8Array(6);
  ours.crypto.getRandomValues(bytes.subarray(2, 4));
  expect([...bytes]).toEqual([0, 0, 255, 36, 0, 0]);
});

test("getRandomValues refuses other arrays and more than 65,536 bytes", () => {
  for (const value of [
    new Float32Array(1),
    new DataView(new ArrayBuffer(1)),
    [1],
    null,
    Object.create(Uint8Array.prototype),
  ]) {
    expect(() => ours.crypto.getRandomValues(value as never)).toThrow(
      expect.objectContaining({ name: "TypeMismatchError" }),
    );
  }
  ours.crypto.getRandomValues(new Uint32Array(16_384));
  const error = expect.objectContaining({ name: "QuotaExceededError", code: 22 });
  expect(() => ours.crypto.getRandomValues(new Uint8Array(65_537))).toThrow(error);
});

test("randomUUID is of version 4", () => {
  expect(ours.crypto.randomUUID()).toBe("ff24496e-93b8-4d02-a74c-7196bbe0052a");
});

test("nobody constructs the classes or calls their methods on something else", () => {
  expect(() => new ours.Crypto()).toThrow("Illegal constructor");
  expect(() => new ours.SubtleCrypto()).toThrow("Illegal constructor");
  expect(() => Reflect.get(ours.crypto, "randomUUID").call({})).toThrow(TypeError);
});

test("crypto works in a frozen isolate and keeps nothing that is put on it", async () => {
  const result = await inIsolate(
    `const put = (object) => { try { object.left = 1; return true } catch { return false } };
    const hash = await crypto.subtle.digest("SHA-1", new Uint8Array());
    return [hash.byteLength, crypto.getRandomValues(new Uint8Array(2))[0], put(crypto), put(crypto.subtle)];`,
    { frozen: true },
  );
  expect(result).toEqual([20, 255, false, false]);
});

test("a digest needs an algorithm with a name", async () => {
  const digest = (algorithm: unknown) => ours.crypto.subtle.digest(algorithm as never, new Uint8Array());
  await expect(digest({})).rejects.toThrow(TypeError);
  await expect(digest({ name: "MD5" })).rejects.toThrow(expect.objectContaining({ name: "NotSupportedError" }));
});
