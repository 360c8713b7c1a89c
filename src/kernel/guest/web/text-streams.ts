import {
  type ReadableStream,
  TransformStream,
  type TransformStreamDefaultController,
  type WritableStream,
} from "web-streams-polyfill";
import type { TextDecoder, TextEncoder } from "./encoding.ts";
import { describeInterface } from "./web-interface.ts";

/** The realm's text classes, on which these streams are built. */
export interface TextClasses {
  readonly TextDecoder: typeof TextDecoder;
  readonly TextEncoder: typeof TextEncoder;
}

/** The two ends of a transforming stream. */
export interface Transforming<In, Out> {
  readonly encoding: string;
  readonly readable: ReadableStream<Out>;
  readonly writable: WritableStream<In>;
}

/** The classes of `createTextStreams`. */
export interface TextStreamClasses {
  readonly TextDecoderStream: new (
    ...args: ConstructorParameters<typeof TextDecoder>
  ) => Transforming<ArrayBuffer | ArrayBufferView, string> & Pick<TextDecoder, "fatal" | "ignoreBOM">;
  readonly TextEncoderStream: new () => Transforming<unknown, Uint8Array>;
}

/** Creates `TextDecoderStream` and `TextEncoderStream`. */
export function createTextStreams(classes: TextClasses): TextStreamClasses {
  class TextDecoderStream {
    readonly #decoder: TextDecoder;
    readonly #transform: TransformStream<ArrayBuffer | ArrayBufferView, string>;

    static {
      describeInterface(this, "TextDecoderStream");
    }

    constructor(...[label, options]: ConstructorParameters<typeof TextDecoder>) {
      const decoder = new classes.TextDecoder(label, options);
      const put = (controller: TransformStreamDefaultController<string>, text: string) => {
        if (text !== "") controller.enqueue(text);
      };
      this.#decoder = decoder;
      this.#transform = new TransformStream({
        transform(chunk: ArrayBuffer | ArrayBufferView | undefined, controller) {
          if (chunk === undefined) throw new TypeError("A chunk has to be an ArrayBuffer or a view of one");
          put(controller, decoder.decode(chunk, { stream: true }));
        },
        flush: (controller) => put(controller, decoder.decode()),
      });
    }

    get encoding(): string {
      return this.#decoder.encoding;
    }

    get fatal(): boolean {
      return this.#decoder.fatal;
    }

    get ignoreBOM(): boolean {
      return this.#decoder.ignoreBOM;
    }

    get readable() {
      return this.#transform.readable;
    }

    get writable() {
      return this.#transform.writable;
    }
  }

  class TextEncoderStream {
    readonly #transform: TransformStream<unknown, Uint8Array>;

    static {
      describeInterface(this, "TextEncoderStream");
    }

    constructor() {
      const encoder = new classes.TextEncoder();
      /** The lead surrogate of a pair that was split between chunks. */
      let lead = "";
      this.#transform = new TransformStream({
        transform(chunk, controller) {
          const text = lead + `${chunk as string}`;
          lead = /[\ud800-\udbff]$/.exec(text)?.[0] ?? "";
          const whole = text.slice(0, text.length - lead.length);
          if (whole !== "") controller.enqueue(encoder.encode(whole));
        },
        flush(controller) {
          if (lead !== "") controller.enqueue(encoder.encode(lead));
        },
      });
    }

    get encoding(): string {
      return "utf-8";
    }

    get readable() {
      return this.#transform.readable;
    }

    get writable() {
      return this.#transform.writable;
    }
  }

  return { TextDecoderStream, TextEncoderStream };
}
