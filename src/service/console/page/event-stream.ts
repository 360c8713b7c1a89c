/** One event of a stream. */
export interface StreamEvent {
  readonly event: string;
  readonly data: string;
}

/** Yields the events of a `text/event-stream` as they arrive. */
export async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<StreamEvent> {
  const reader = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const lines = (rest + value).replaceAll("\r\n", "\n").split("\n\n");
      rest = lines.pop() ?? "";
      for (const block of lines) {
        const event = parseBlock(block);
        if (event !== null) yield event;
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

function parseBlock(block: string): StreamEvent | null {
  let event = "message";
  const data: string[] = [];
  for (const line of block.split("\n")) {
    const [, name, value = ""] = /^([^:]*):? ?(.*)$/s.exec(line) ?? [];
    if (name === "event") event = value;
    if (name === "data") data.push(value);
  }
  return data.length === 0 ? null : { event, data: data.join("\n") };
}
