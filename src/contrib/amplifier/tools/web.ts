import {
  type Config,
  type Coordinator,
  failed,
  gracefully,
  maxOutputOf,
  type ToolResult,
  wholeNumber,
} from "./parts/amplifier.ts";

/**
 * Fetches pages and other texts; a policy allows origins. Config: `timeout` (seconds, default 30), `max_size` (bytes
 * read, default 1 MiB; the rest is dropped), `max_output` (characters, default 50,000).
 */
export const spec = {
  tags: ["web"],
  capabilities: { fetch: { origins: ["*"] } },
  limits: { wallMs: 600_000, outputBytes: 16 * 1024 * 1024, capabilityBytes: 32 * 1024 * 1024, cpuMs: 5_000 },
};

export async function mount(coordinator: Coordinator, config: Config): Promise<void> {
  const tool = new WebFetchTool(config);
  await coordinator.mount("tools", tool, { name: tool.name });
}

class WebFetchTool {
  readonly name = "web_fetch";
  readonly description = "Fetch a text from the web";
  readonly input_schema = {
    type: "object",
    properties: { url: { type: "string", description: "Address, with https:// or http://" } },
    required: ["url"],
  };
  readonly max_output_chars: number;
  readonly #timeout: number;
  readonly #maxSize: number;

  constructor(config: Config) {
    this.#timeout = wholeNumber(config, "timeout", 30);
    this.#maxSize = wholeNumber(config, "max_size", 1_048_576);
    this.max_output_chars = maxOutputOf(config);
  }

  async execute({ url }: { readonly url: string }): Promise<ToolResult> {
    const abort = new AbortController();
    const timer = setTimeout(() => abort.abort(), this.#timeout * 1000);
    try {
      return await gracefully(() => this.#fetch(url, abort.signal));
    } finally {
      clearTimeout(timer);
    }
  }

  async #fetch(url: string, signal: AbortSignal): Promise<ToolResult> {
    try {
      const response = await fetch(url, { signal });
      const { status } = response;
      const type = response.headers.get("content-type") ?? "";
      const { bytes, isCut } = await this.#read(response);
      const output = decoderOf(type).decode(bytes);
      const metadata = { url: response.url, status, content_type: type, truncated_body: isCut };
      if (response.ok) return { success: true, output, metadata };
      return { ...failed("HTTPError", `HTTP ${status}`, { status }), output, metadata };
    } catch (error) {
      if (signal.aborted) return failed("TimeoutError", `Request timed out after ${this.#timeout}s`);
      throw error;
    }
  }

  /** Reads at most the first `max_size` bytes of the body. */
  async #read({ body }: ToolResponse): Promise<{ readonly bytes: Uint8Array; readonly isCut: boolean }> {
    const reader = body?.getReader();
    const chunks: Uint8Array[] = [];
    let length = 0;
    for (let next = await reader?.read(); next?.value !== undefined && !next.done; next = await reader?.read()) {
      chunks.push(next.value.subarray(0, this.#maxSize - length));
      length += next.value.length;
      if (length <= this.#maxSize) continue;
      await reader?.cancel();
      break;
    }
    const bytes = new Uint8Array(Math.min(length, this.#maxSize));
    let at = 0;
    for (const chunk of chunks) {
      bytes.set(chunk, at);
      at += chunk.length;
    }
    return { bytes, isCut: length > this.#maxSize };
  }
}

/** Decoder for the charset in the content type; UTF-8 if it is missing or unknown. */
function decoderOf(contentType: string): TextDecoder {
  const [, charset = "utf-8"] = /charset="?([\w.:-]+)/i.exec(contentType) ?? [];
  try {
    return new TextDecoder(charset, { fatal: false, ignoreBOM: false });
  } catch {
    return new TextDecoder("utf-8", { fatal: false, ignoreBOM: false });
  }
}
