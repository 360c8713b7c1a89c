import type { AskHost } from "../../kernel/guest/faces/face.ts";
import { encodeBase64 } from "../../kernel/guest/web/base64-bytes.ts";
import { encodeUtf8 } from "../../kernel/guest/web/utf8.ts";
import type { OpenApiOperation } from "../../kernel/guest/host.ts";
import { ArgumentError, isObject } from "./parameters.ts";

type Arguments = Readonly<Record<string, unknown>>;

/** A file of a mount, whose bytes the host reads. */
interface PathArgument {
  readonly path: string;
  readonly filename?: unknown;
}

/**
 * The arguments of an operation with the bytes of the files that they name by path: `{ path: "/data/a.pdf" }`. Rejects with an
 * `ArgumentError`, and with the errors of the capability `fs`.
 */
export async function readMountFiles({ body }: OpenApiOperation, args: Arguments, ask: AskHost): Promise<Arguments> {
  if (body === null) return args;
  const { property, encoding } = body;
  const value = args[property];
  if (encoding === "bytes") return isPath(value) ? { ...args, [property]: await read(property, value, ask) } : args;
  if (encoding !== "multipart" || !isObject(value)) return args;
  const members: (readonly [name: string, member: unknown])[] = [];
  for (const [name, member] of Object.entries(value)) {
    if (Array.isArray(member)) {
      const items: unknown[] = [];
      for (const item of member) items.push(isPath(item) ? await read(name, item, ask) : item);
      members.push([name, items]);
    } else members.push([name, isPath(member) ? await read(name, member, ask) : member]);
  }
  return { ...args, [property]: Object.fromEntries(members) };
}

function isPath(value: unknown): value is PathArgument {
  return isObject(value) && typeof value["path"] === "string" && value["base64"] === undefined;
}

async function read(name: string, file: PathArgument, ask: AskHost): Promise<Arguments> {
  const { path, ...rest } = file;
  const answer = await ask("fs", "readFile", { path });
  if (!isObject(answer) || !isObject(answer["value"])) {
    const failure = isObject(answer) ? answer["failure"] : undefined;
    const reason = isObject(failure) ? String(failure["message"]) : "it cannot be read";
    throw new ArgumentError(`${name}.path: ${reason}`);
  }
  const filename = rest.filename ?? path.slice(path.lastIndexOf("/") + 1);
  // A file of valid UTF-8 comes as a text.
  const { text, base64 } = answer["value"];
  return { ...rest, filename, base64: typeof text === "string" ? encodeBase64(encodeUtf8(text)) : base64 };
}
