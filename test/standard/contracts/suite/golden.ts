import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const FOLDER = fileURLToPath(new URL("../../../../fixtures/contracts", import.meta.url));
const KINDS = ["tool", "call", "result"] as const;

export type GoldenKind = (typeof KINDS)[number];

/** A message as the contract's documents have it. Its file's name begins with what it is. */
export interface Golden {
  readonly file: string;
  readonly kind: GoldenKind;
  readonly message: unknown;
}

export function readGolden(name: string): readonly Golden[] {
  const folder = join(FOLDER, name);
  if (!existsSync(folder)) return [];
  return readdirSync(folder).flatMap((file) => {
    const kind = KINDS.find(
      (each) => file.endsWith(".json") && (file === `${each}.json` || file.startsWith(`${each}-`)),
    );
    if (kind === undefined) return [];
    const message: unknown = JSON.parse(readFileSync(join(folder, file), "utf8"));
    return [{ file, kind, message }];
  });
}
