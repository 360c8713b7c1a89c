/** An event as a client of the WHATWG standard reads it. */
export interface ServerEvent {
  readonly event: string;
  readonly id: string;
  readonly data: string;
}

/** Reads a stream of events to its end. Comments are events without a name, for those who want to see them. */
export async function* readEvents(body: AsyncIterable<Uint8Array> | null): AsyncGenerator<ServerEvent> {
  let text = "";
  const decoder = new TextDecoder();
  for await (const chunk of body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
      yield readEvent(text.slice(0, end));
      text = text.slice(end + 2);
    }
  }
  if (text !== "") throw new Error(`the stream ended within an event: ${text.slice(0, 200)}`);
}

function readEvent(block: string): ServerEvent {
  const fields = block.split("\n").map((line) => /^([^:]*):? ?(.*)$/s.exec(line)?.slice(1) ?? []);
  const last = (name: string): string => fields.findLast(([field]) => field === name)?.[1] ?? "";
  const data = fields.filter(([field]) => field === "data").map(([, value]) => value);
  return { event: last("event"), id: last("id"), data: data.join("\n") };
}
