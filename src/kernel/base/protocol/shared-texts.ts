/**
 * Texts in memory that all threads of a process share. Each thread reads those that its tools need: a copy of all would
 * take a megabyte of each.
 */
export interface SharedTexts {
  readonly bytes: SharedArrayBuffer;
  /** The place of each text. */
  readonly places: ReadonlyMap<string, readonly [start: number, end: number]>;
}

export function shareTexts(texts: { readonly [name: string]: string }): SharedTexts {
  const encoded = Object.entries(texts).map(([name, text]) => [name, Buffer.from(text)] as const);
  const bytes = new SharedArrayBuffer(encoded.reduce((sum, [, text]) => sum + text.length, 0));
  const all = new Uint8Array(bytes);
  const places = new Map<string, readonly [start: number, end: number]>();
  let start = 0;
  for (const [name, text] of encoded) {
    all.set(text, start);
    places.set(name, [start, start + text.length]);
    start += text.length;
  }
  return { bytes, places };
}

/** A text; empty if none has that name. */
export function textNamed({ bytes, places }: SharedTexts, name: string): string {
  const [start, end] = places.get(name) ?? [0, 0];
  return Buffer.from(bytes, start, end - start).toString();
}
