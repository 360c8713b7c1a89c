/** Globals of an isolate that these tools use. */

interface ToolResponse {
  readonly ok: boolean;
  readonly status: number;
  readonly url: string;
  readonly headers: { get(name: string): string | null };
  readonly body: { getReader(): ToolBodyReader } | null;
}

interface ToolBodyReader {
  read(): Promise<{ readonly done: boolean; readonly value?: Uint8Array }>;
  cancel(): Promise<void>;
}

declare function fetch(url: string, options: { readonly signal: AbortSignal }): Promise<ToolResponse>;

interface AbortSignal {
  readonly aborted: boolean;
}

declare class AbortController {
  readonly signal: AbortSignal;
  abort(): void;
}

declare class TextDecoder {
  constructor(label: string, options: { readonly fatal: boolean; readonly ignoreBOM: boolean });
  decode(bytes: Uint8Array): string;
}

declare const console: { log(...parts: readonly unknown[]): void };

declare function setTimeout(callback: () => void, delayMs: number): number;
declare function clearTimeout(id: number): void;
