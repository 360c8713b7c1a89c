import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { printClaims, readClaims } from "./proofs.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const claims = readClaims();

test("each row of the documents and of the threat model has a test, in a file that exists", () => {
  expect(claims.filter(({ proofs }) => proofs.length === 0)).toEqual([]);
  const files = claims.flatMap(({ proofs }) => proofs.map((proof) => proof.slice(0, proof.indexOf(": "))));
  expect([...new Set(files)].filter((file) => file !== "waits" && !existsSync(ROOT + file))).toEqual([]);
});

test("the map of rows and tests is printed, whole or by words", () => {
  const whole = printClaims(claims, []);
  expect(whole).toContain("A01: Contract header is exposed");
  expect(whole).toContain("\n  test/attack/endless.attack.test.ts: an endless loop\n");
  expect(printClaims(claims, ["E43"])).toMatch(/^E43: Idempotency: .*\n(?: {2}test\/.*\n)+$/);
  expect(printClaims(claims, ["own network", "NOTATION"])).not.toBe("");
  expect(printClaims(claims, ["no row says this"])).toBe("");
});
