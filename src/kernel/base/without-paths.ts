const SHOWN_MAX = 500;

/** A line of an error for others to read: without the folders of the host's paths, and cut. */
export function withoutPaths(line: string): string {
  return line.replaceAll(/(?:file:\/\/)?\/[^\s'"]*\//g, "").slice(0, SHOWN_MAX);
}
