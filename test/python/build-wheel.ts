import { createHash } from "node:crypto";
import { buildZip, type ZipPart } from "../kernel/tool/package/build-zip.ts";

export interface WheelParts {
  readonly name: string;
  readonly version?: string;
  readonly files?: Readonly<Record<string, string | Buffer>>;
  /** Lines of METADATA besides the name and the version. */
  readonly metadata?: readonly string[];
  /** Instead of what is right. */
  readonly wheel?: string;
  /** Instead of what is right, or nothing where it is missing. */
  readonly record?: (rows: readonly string[]) => readonly string[] | null;
  readonly info?: string;
  readonly said?: string;
  /** Entries as they are, which RECORD does not name. */
  readonly more?: readonly ZipPart[];
}

/** A row of RECORD that is right. */
export function recordRow(path: string, data: string | Buffer): string {
  const shown = path.includes(",") ? `"${path}"` : path;
  const hash = createHash("sha256").update(data).digest("base64url");
  return `${shown},sha256=${hash},${Buffer.byteLength(data)}`;
}

/** A wheel in which all is right but what is said. */
export function buildWheel(parts: WheelParts): Buffer {
  const { name, version = "1.0", files = { [`${name}/__init__.py`]: "" }, metadata = [], more = [] } = parts;
  const info = parts.info ?? `${name}-${version}.dist-info`;
  const all: Record<string, string | Buffer> = {
    ...files,
    [`${info}/METADATA`]: `Metadata-Version: 2.1\n${parts.said ?? `Name: ${name}\nVersion: ${version}`}\n${metadata.map((line) => `${line}\n`).join("")}\nSome words.\n`,
    [`${info}/WHEEL`]: parts.wheel ?? "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
  };
  const right = [...Object.entries(all).map(([path, data]) => recordRow(path, data)), `${info}/RECORD,,`];
  const rows = parts.record === undefined ? right : parts.record(right);
  const entries = Object.entries(all).map(([path, data]) => ({ name: path, data }));
  const record = rows === null ? [] : [{ name: `${info}/RECORD`, data: `${rows.join("\n")}\n` }];
  return buildZip([...entries, ...record, ...more]);
}

/** Wheels by the names of their files, for a folder of them. */
export function wheelFiles(...wheels: readonly WheelParts[]): Record<string, Buffer> {
  return Object.fromEntries(
    wheels.map((one) => [`${one.name}-${one.version ?? "1.0"}-py3-none-any.whl`, buildWheel(one)]),
  );
}
