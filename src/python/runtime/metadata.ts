import { PackageError, quoted } from "../../kernel/tool/package/step.ts";

/** The fields of a wheel's `METADATA` or `WHEEL`, keyed by lower-case name, with their values in order. */
export type Metadata = ReadonlyMap<string, readonly string[]>;

const HEAD_MAX = 1024 * 1024;
const FIELDS_MAX = 10_000;
const KEY = /^[a-z\d-]+$/;

/**
 * Parses fields in the format of mail headers, up to the first empty line; a description follows it. Throws a
 * `PackageError`.
 */
export function readMetadata(bytes: Uint8Array, name: string): Metadata {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.byteLength, HEAD_MAX)).toString("utf8");
  const fields = new Map<string, string[]>();
  let last: string[] | undefined;
  let count = 0;
  for (const line of text.replace(/^\ufeff/, "").split(/\r\n|\r|\n/)) {
    if (line === "") break;
    if (/^[ \t]/.test(line)) {
      // Continuation lines are ignored: no field used here has them.
      if (last === undefined) throw new PackageError(`${name} starts with the continuation of a field`);
      continue;
    }
    const at = line.indexOf(":");
    const key = line.slice(0, Math.max(0, at)).toLowerCase();
    if (!KEY.test(key)) throw new PackageError(`${name} has the line ${quoted(line)}`);
    if (++count > FIELDS_MAX) throw new PackageError(`${name} has more than ${FIELDS_MAX} fields`);
    last = fields.get(key) ?? [];
    last.push(line.slice(at + 1).trim());
    fields.set(key, last);
  }
  return fields;
}

/** The only value of a field. Throws a `PackageError` if it is missing or repeated. */
export function onlyField(metadata: Metadata, field: string, name: string): string {
  const [value, another] = metadata.get(field.toLowerCase()) ?? [];
  if (value !== undefined && another === undefined) return value;
  throw new PackageError(`${name} has ${value === undefined ? "no" : "more than one"} field ${field}`);
}
