import { fileURLToPath } from "node:url";
import { join, relative } from "node:path";
import { readRows as readAttacks } from "./attack/threat-model.ts";
import { findProofs, readRows } from "./standard/contracts/suite/seeds.ts";
import { WAITING } from "./standard/contracts/suite/waiting.ts";

const TESTS = fileURLToPath(new URL(".", import.meta.url));

/** Something that has to hold, and the tests that prove it. */
interface Claim {
  /** A row of the documents by its number, an attack by the heading of its table. */
  readonly of: string;
  readonly says: string;
  readonly proofs: readonly string[];
}

/** All rows of the documents and of the threat model, with their tests. */
export function readClaims(): Claim[] {
  const proofs = findProofs();
  const rows = readRows().map(({ id, requirement }) => {
    const found = proofs.filter((proof) => proof.rows.includes(id));
    const reason = WAITING.get(id);
    return {
      of: id,
      says: requirement,
      proofs: [
        ...found.map(({ file, title }) => `test/${file}: ${title}`),
        ...(reason === undefined ? [] : [`waits: ${reason}`]),
      ],
    };
  });
  const attacks = Map.groupBy(readAttacks(), ({ group, vector }) => `${group}\n${vector}`);
  return [
    ...rows,
    ...[...attacks].map(([name, tests]) => {
      const [of = "", says = ""] = name.split("\n");
      return { of, says, proofs: tests.map(({ file, test }) => `${pathOf(file)}: ${test}`) };
    }),
  ];
}

/** Claims that have all words in a number, a heading, a requirement or the name of a test, as lines of text. */
export function printClaims(claims: readonly Claim[], words: readonly string[]): string {
  const isMeant = ({ of, says, proofs }: Claim): boolean => {
    const text = [of, says, ...proofs].join("\n").toLowerCase();
    return words.every((word) => (/^[A-F]\d+$/.test(word) ? word === of : text.includes(word.toLowerCase())));
  };
  return claims
    .filter(isMeant)
    .map(({ of, says, proofs }) => `${[`${of}: ${says}`, ...proofs.map((proof) => `  ${proof}`)].join("\n")}\n`)
    .join("\n");
}

/** From the root of the repository; the table names files from its own folder. */
function pathOf(file: string): string {
  return `test/${relative(TESTS, join(TESTS, "attack", file))}`;
}
