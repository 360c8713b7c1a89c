/** The few marks that a chart is made of, as text. Everything that comes from outside is escaped here. */

interface Point {
  readonly x: number;
  readonly y: number;
}

interface Box extends Point {
  readonly width: number;
  readonly height: number;
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&apos;",
};
/** XML cannot hold these at all, not even as entities. */
// oxlint-disable-next-line no-control-regex
const FORBIDDEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g;

export function escapeXml(text: string): string {
  return text
    .toWellFormed()
    .replaceAll(FORBIDDEN, "\ufffd")
    .replaceAll(/[&<>"']/g, (mark) => ENTITIES[mark] ?? mark);
}

export function label(style: string, { x, y }: Point, text: string): string {
  return `<text class="${escapeXml(style)}" x="${round(x)}" y="${round(y)}">${escapeXml(text)}</text>`;
}

export function rectangle(style: string, { x, y, width, height }: Box): string {
  const corners = `x="${round(x)}" y="${round(y)}" width="${round(width)}" height="${round(height)}"`;
  return `<rect class="${escapeXml(style)}" ${corners}/>`;
}

/** A picture that needs nothing from elsewhere. The title is what a screen reader says of it. */
export function picture(width: number, height: number, title: string, css: string, marks: readonly string[]): string {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">`,
    `<title>${escapeXml(title)}</title>`,
    `<style>${escapeXml(css)}</style>`,
    rectangle("ground", { x: 0, y: 0, width, height }),
    ...marks,
    "</svg>",
    "",
  ].join("\n");
}

/** Tenths of a pixel are fine enough, and keep the file small. */
function round(pixels: number): number {
  return Math.round(pixels * 10) / 10;
}
