/** The realm's globals that the library uses. */

interface AbortSignal {
  readonly aborted: boolean;
  readonly reason: unknown;
  addEventListener(type: string, listener: (event?: unknown) => void, options?: { once?: boolean }): void;
  removeEventListener(type: string, listener: (event?: unknown) => void): void;
}
declare class Event {
  constructor(type: string);
  readonly type: string;
}
declare class EventTarget {
  // oxlint-disable-next-line typescript/no-explicit-any
  addEventListener(type: string, listener: (event?: any) => void, options?: { once?: boolean }): void;
  // oxlint-disable-next-line typescript/no-explicit-any
  removeEventListener(type: string, listener: (event?: any) => void): void;
  dispatchEvent(event: Event): boolean;
}
declare function structuredClone(value: unknown): unknown;
declare class AbortController {
  readonly signal: AbortSignal;
  abort(reason?: unknown): void;
}
declare class TextEncoder {
  encode(text: string): Uint8Array<ArrayBuffer>;
}
declare class TextDecoder {
  constructor(label?: string, options?: { fatal?: boolean });
  decode(bytes: Uint8Array): string;
}
declare class URLSearchParams {
  constructor(init?: unknown);
}
declare class URL {
  constructor(url: string, base?: string | URL);
  href: string;
  hostname: string;
  readonly protocol: string;
  readonly pathname: string;
  readonly origin: string;
  readonly searchParams: URLSearchParams;
}
declare class Blob {
  constructor(parts: readonly unknown[], options?: object);
  readonly size: number;
  arrayBuffer(): Promise<ArrayBuffer>;
}
declare class File extends Blob {}
declare class ReadableStream {
  constructor(source: object, strategy?: object);
}
declare class WritableStream {
  constructor(sink: object);
}
declare const console: { readonly [name: string]: (...args: readonly unknown[]) => void };
// oxlint-disable-next-line no-var
declare var performance: { now(): number; readonly timeOrigin: number };
declare function setTimeout(
  callback: (...args: never[]) => unknown,
  delay?: number,
  ...args: readonly unknown[]
): number;
declare function setInterval(
  callback: (...args: never[]) => unknown,
  delay?: number,
  ...args: readonly unknown[]
): number;
declare function clearTimeout(timer: unknown): void;
declare function clearInterval(timer: unknown): void;
declare function atob(text: string): string;
declare function btoa(text: string): string;
// oxlint-disable-next-line no-var
declare var crypto: object;
declare class DOMException extends Error {
  constructor(message: string, name: string);
}
