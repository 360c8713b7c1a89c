import { readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { filesBelow } from "../../../source-files.ts";
import { titlesIn } from "../../../titles.ts";
import { WAITING } from "./waiting.ts";

export const TESTS = fileURLToPath(new URL("../../..", import.meta.url));
export const SEEDS = join(TESTS, "standard/contracts/suite/seeds.md");

/** One thing that the documents ask for. */
export interface Row {
  readonly id: string;
  readonly requirement: string;
}

/** A test that says at its title's end which rows it proves. */
export interface Proof {
  readonly file: string;
  readonly title: string;
  readonly rows: readonly string[];
}

const ROW = /^\| ([A-F]\d{1,2}) +\| (.*?) +\| .*\|$/;
/** A row of the checklist of the documents, as it stands there; rows of conflicts have a resolution too. */
const ASKED = /^\| ([A-F]\d{1,2}) \| (.*?) \|(?: (.*) \|)?$/gm;
const PROVES = /^(.*?) ?\[([A-F]\d{1,2}(?: [A-F]\d{1,2})*)\]$/;

export function readRows(): readonly Row[] {
  return readFileSync(SEEDS, "utf8")
    .split("\n")
    .flatMap((line) => {
      const [, id, requirement] = ROW.exec(line) ?? [];
      return id === undefined || requirement === undefined ? [] : [{ id, requirement }];
    });
}

/** What all tests say that they prove. */
export function findProofs(): readonly Proof[] {
  const files = filesBelow(TESTS).filter((file) => file.endsWith(".ts"));
  return files.toSorted().flatMap((file) => proofsIn(file, readFileSync(join(TESTS, file), "utf8")));
}

/** What the tests in a file's text say that they prove. */
export function proofsIn(file: string, text: string): readonly Proof[] {
  return titlesIn(text).flatMap((written) => {
    const [, title, rows] = PROVES.exec(written) ?? [];
    return title === undefined || rows === undefined ? [] : [{ file, title, rows: rows.split(" ") }];
  });
}

/** The rows of the checklist, in the words of the table here. */
export function rowsOfChecklist(text: string): readonly Row[] {
  return [...text.matchAll(ASKED)].map(([, id = "", asked = "", resolution]) => ({
    id,
    requirement: resolution === undefined ? asked : `${asked} — ${resolution}`,
  }));
}

/** The document with the proofs that there are. */
export function writeSeeds(proofs: readonly Proof[]): string {
  const lines = readFileSync(SEEDS, "utf8").split("\n");
  const rows = lines.map((line) => {
    const [, id, requirement] = ROW.exec(line) ?? [];
    return id === undefined ? line : `| ${id} | ${requirement} | ${provenBy(id, proofs)} |`;
  });
  return rows.join("\n");
}

function provenBy(id: string, proofs: readonly Proof[]): string {
  const found = proofs.filter(({ rows }) => rows.includes(id));
  const shown = found.map(({ file, title }) => `[${escape(title)}](${relative(dirname(SEEDS), join(TESTS, file))})`);
  const reason = WAITING.get(id);
  return [...shown, ...(reason === undefined ? [] : [`waits: ${reason}`])].join("<br>");
}

function escape(title: string): string {
  return title.trim().replaceAll("|", "\\|").replaceAll("[", "\\[").replaceAll("]", "\\]");
}
