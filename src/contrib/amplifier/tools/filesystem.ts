import { AllowedPaths } from "./parts/allowed-paths.ts";
import {
  type Config,
  type Coordinator,
  described,
  failed,
  gracefully,
  maxOutputOf,
  type ToolResult,
  wholeNumber,
} from "./parts/amplifier.ts";
import type { Context } from "./parts/host.ts";
import { decode } from "./parts/text-encoding.ts";

/**
 * File tools for the mounts that they are granted: `capabilities: { fs: { data: { mode: "rw" } } }` of their location,
 * and a policy that maps `/data` to a folder. Config: `allowed_paths` (default: no restriction), `max_size` (bytes of a
 * file, default 1 MiB), `max_output` (characters of an output, default 50,000).
 */
export const spec = {
  tags: ["files"],
  // A file of the usual `max_size` fits into a response, with any escapes of its characters.
  limits: { outputBytes: 16 * 1024 * 1024, capabilityBytes: 32 * 1024 * 1024, cpuMs: 5_000 },
};

const MAX_SIZE = 1_048_576;
const PATH = { type: "string", description: "File path" };

export async function mount(coordinator: Coordinator, config: Config): Promise<void> {
  const options: Options = {
    allowed: new AllowedPaths(config),
    maxSize: wholeNumber(config, "max_size", MAX_SIZE),
    maxOutput: maxOutputOf(config),
  };
  const tools = [
    new ReadFileTool(options),
    new WriteFileTool(options),
    new EditFileTool(options),
    new ListDirectoryTool(options),
  ];
  for (const tool of tools) await coordinator.mount("tools", tool, { name: tool.name });
}

interface Options {
  readonly allowed: AllowedPaths;
  readonly maxSize: number;
  readonly maxOutput: number;
}

/** Base class of the file tools. */
class FileTool {
  readonly max_output_chars: number;
  protected readonly options: Options;

  constructor(options: Options) {
    this.options = options;
    this.max_output_chars = options.maxOutput;
  }

  /** Bytes of the file, or the refusal. Rejects with errors of the system. */
  protected async read(path: string, { host }: Context): Promise<Uint8Array | ToolResult> {
    const { allowed, maxSize } = this.options;
    const real = await allowed.resolve(host.fs, path);
    if (real === null) return notAllowed();
    if ((await host.fs.stat(real)).size > maxSize) return tooLarge("File", maxSize);
    // The file may have grown since, and special files report no size.
    const bytes = await host.fs.readFile(real, { length: maxSize + 1 });
    return bytes.length > maxSize ? tooLarge("File", maxSize) : bytes;
  }

  protected async write(path: string, content: string, { host }: Context): Promise<ToolResult | null> {
    const { allowed, maxSize } = this.options;
    const real = await allowed.resolve(host.fs, path);
    if (real === null) return notAllowed();
    if (bytesOf(content) > maxSize) return tooLarge("Content", maxSize);
    await host.fs.writeFile(real, content);
    return null;
  }
}

class ReadFileTool extends FileTool {
  readonly name = "read_file";
  readonly description = "Read the contents of a file";
  readonly input_schema = {
    type: "object",
    properties: { path: PATH, encoding: { type: "string", default: "utf-8" } },
    required: ["path"],
  };

  async execute(input: { readonly path: string; readonly encoding?: string }, context: Context): Promise<ToolResult> {
    const { path, encoding = "utf-8" } = input;
    try {
      const bytes = await this.read(path, context);
      if (!(bytes instanceof Uint8Array)) return bytes;
      const content = decode(bytes, encoding);
      return { success: true, output: content, metadata: { path, size: lengthOf(content) } };
    } catch (error) {
      const { type, message } = described(error);
      return type === "FileNotFoundError" ? notFound(path) : failed(type, message);
    }
  }
}

class WriteFileTool extends FileTool {
  readonly name = "write_file";
  readonly description = "Write text to a file, and create the file if it is missing";
  readonly input_schema = {
    type: "object",
    properties: { path: PATH, content: { type: "string", description: "The whole text of the file" } },
    required: ["path", "content"],
  };

  execute(input: { readonly path: string; readonly content: string }, context: Context): Promise<ToolResult> {
    const { path, content } = input;
    return orNotFound(path, async () => {
      const refused = await this.write(path, content, context);
      const size = lengthOf(content);
      return refused ?? { success: true, output: `Wrote ${size} characters to ${path}`, metadata: { path, size } };
    });
  }
}

interface Edit {
  readonly path: string;
  readonly old_text: string;
  readonly new_text: string;
  readonly replace_all?: boolean;
}

class EditFileTool extends FileTool {
  readonly name = "edit_file";
  readonly description = "Replace text in a file";
  readonly input_schema = {
    type: "object",
    properties: {
      path: PATH,
      old_text: { type: "string", minLength: 1, description: "Text that is in the file, exactly" },
      new_text: { type: "string", description: "Text to put in its place" },
      replace_all: {
        type: "boolean",
        default: false,
        description: "Replace it wherever it is; else it must be there once",
      },
    },
    required: ["path", "old_text", "new_text"],
  };

  execute({ path, old_text, new_text, replace_all = false }: Edit, context: Context): Promise<ToolResult> {
    return orNotFound(path, async () => {
      const bytes = await this.read(path, context);
      if (!(bytes instanceof Uint8Array)) return bytes;
      const parts = decode(bytes, "utf-8").split(old_text);
      const count = parts.length - 1;
      if (count === 0) return failed("ValueError", `Text not found in ${path}`);
      if (count > 1 && !replace_all) {
        return failed("ValueError", `Text is ${count} times in ${path}; give more of it, or set replace_all`);
      }
      const refused = await this.write(path, parts.join(new_text), context);
      return refused ?? { success: true, output: `Replaced ${count} in ${path}`, metadata: { path, replaced: count } };
    });
  }
}

class ListDirectoryTool extends FileTool {
  readonly name = "list_directory";
  readonly description = "List the files and folders in a folder; the names of folders end in a slash";
  readonly input_schema = {
    type: "object",
    properties: { path: { type: "string", description: "Folder path" } },
    required: ["path"],
  };

  execute({ path }: { readonly path: string }, { host }: Context): Promise<ToolResult> {
    return orNotFound(path, async () => {
      const real = await this.options.allowed.resolve(host.fs, path);
      if (real === null) return notAllowed();
      const entries = await host.fs.readdir(real, { withFileTypes: true });
      const names = entries.map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name)).toSorted();
      return { success: true, output: names.join("\n"), metadata: { path, entries: names.length } };
    });
  }
}

function orNotFound(path: string, work: () => Promise<ToolResult>): Promise<ToolResult> {
  return gracefully(async () => {
    try {
      return await work();
    } catch (error) {
      if (described(error).type === "FileNotFoundError") return notFound(path);
      throw error;
    }
  });
}

function notAllowed(): ToolResult {
  return failed("PermissionError", "Path not allowed");
}

function notFound(path: string): ToolResult {
  return failed("FileNotFoundError", `File not found: ${path}`);
}

function tooLarge(what: string, maxSize: number): ToolResult {
  return failed("FileTooLarge", `${what} exceeds max size (${maxSize} bytes)`);
}

/** Length in Unicode code points; JavaScript's `length` counts UTF-16 units. */
function lengthOf(text: string): number {
  let length = 0;
  for (const _ of text) length++;
  return length;
}

/** Length in UTF-8 bytes. */
function bytesOf(text: string): number {
  let bytes = 0;
  for (const character of text) {
    const point = character.codePointAt(0) ?? 0;
    bytes += point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x1_0000 ? 3 : 4;
  }
  return bytes;
}
