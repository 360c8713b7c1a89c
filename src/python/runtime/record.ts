import { createHash } from "node:crypto";
import { PackageError, quoted } from "../../kernel/tool/package/step.ts";

const ALGORITHMS: readonly string[] = ["sha256", "sha384", "sha512"];
/** Files without a hash in the record: the record itself and its signatures. */
const UNRECORDED: readonly string[] = ["RECORD", "RECORD.jws", "RECORD.p7s"];
const ROW = /^(?:"((?:[^"]|"")*)"|([^",]*)),([^,"]*),(\d*)$/;

/**
 * Checks that a wheel's files match its `RECORD` exactly. Throws a `PackageError` that names the first file that does
 * not.
 */
export function checkRecord(files: ReadonlyMap<string, Uint8Array>, folder: string): void {
  const record = files.get(`${folder}/RECORD`);
  if (record === undefined) throw new PackageError("it has no RECORD");
  const unrecorded = new Set(UNRECORDED.map((name) => `${folder}/${name}`));
  const recorded = new Set<string>();
  for (const row of Buffer.from(record).toString("utf8").split(/\r?\n/)) {
    if (row === "") continue;
    const [, quotedPath, plainPath = "", hash = ""] = ROW.exec(row) ?? [];
    const path = quotedPath?.replaceAll('""', '"') ?? plainPath;
    const data = files.get(path);
    if (path === "" || data === undefined)
      throw new PackageError(`its RECORD lists ${quoted(path || row)}, which is missing`);
    if (recorded.has(path)) throw new PackageError(`its RECORD lists ${quoted(path)} twice`);
    recorded.add(path);
    if (!unrecorded.has(path) && !isHashOf(hash, data)) {
      throw new PackageError(`its file ${quoted(path)} does not match the hash in its RECORD`);
    }
  }
  for (const path of files.keys()) {
    if (!recorded.has(path) && !unrecorded.has(path)) {
      throw new PackageError(`it has the file ${quoted(path)}, which its RECORD does not list`);
    }
  }
}

function isHashOf(hash: string, data: Uint8Array): boolean {
  const [algorithm = "", digest = ""] = hash.split("=", 2);
  if (!ALGORITHMS.includes(algorithm)) return false;
  return createHash(algorithm).update(data).digest("base64url") === digest.replace(/=+$/, "");
}
