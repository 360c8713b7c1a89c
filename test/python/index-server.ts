import { createHash } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { serve, type TestServer } from "../kernel/broker/capabilities/fetch/server.ts";
import { buildWheel, type WheelParts } from "./build-wheel.ts";

/** A file of an index that was made in the test. */
export interface IndexFile {
  readonly file: string;
  readonly bytes: Buffer;
  readonly sha256?: string;
  readonly python?: string;
  readonly isYanked?: boolean;
}

/** A wheel of pure Python, as an index has it. */
export function indexFile(parts: WheelParts, more: Partial<IndexFile> = {}): IndexFile {
  const file = `${parts.name}-${parts.version ?? "1.0"}-py3-none-any.whl`;
  return { file, bytes: buildWheel(parts), ...more };
}

/** How its pages are written: HTML of PEP 503, or JSON of PEP 691. */
export type PageForm = "html" | "json";

/** Answers in place of the index where it has something to say. */
type Before = (request: IncomingMessage, response: ServerResponse) => boolean;

/** A package index on this machine. */
export function serveIndex(files: readonly IndexFile[], form: PageForm = "json", before?: Before): Promise<TestServer> {
  return serve((request, response) => {
    if (before?.(request, response) === true) return;
    const [, place, name] = (request.url ?? "").split("/");
    const found = files.find(({ file }) => place === "files" && file === name);
    if (found !== undefined) return response.end(found.bytes);
    const own = files.filter(({ file }) => projectOf(file) === name);
    if (place !== "simple" || own.length === 0) return response.writeHead(404).end();
    if (form === "json") {
      response.setHeader("content-type", "application/vnd.pypi.simple.v1+json");
      return response.end(JSON.stringify({ meta: { "api-version": "1.1" }, name, files: own.map(asJson) }));
    }
    response.setHeader("content-type", "text/html; charset=utf-8");
    return response.end(`<!DOCTYPE html><html><body>\n${own.map(asAnchor).join("<br/>\n")}\n</body></html>`);
  });
}

function projectOf(file: string): string {
  return (file.split("-")[0] ?? "").toLowerCase().replaceAll(/[-_.]+/g, "-");
}

function asJson(one: IndexFile) {
  return {
    filename: one.file,
    url: `../../files/${one.file}`,
    hashes: { sha256: hashOf(one) },
    ...(one.python === undefined ? {} : { "requires-python": one.python }),
    yanked: one.isYanked === true ? "a mistake" : false,
  };
}

function asAnchor(one: IndexFile): string {
  const python =
    one.python === undefined
      ? ""
      : ` data-requires-python="${one.python.replaceAll(">", "&gt;").replaceAll("<", "&lt;")}"`;
  const yanked = one.isYanked === true ? ' data-yanked=""' : "";
  return `<a href="../../files/${one.file}#sha256=${hashOf(one)}"${python}${yanked}>${one.file}</a>`;
}

function hashOf({ sha256, bytes }: IndexFile): string {
  return sha256 ?? createHash("sha256").update(bytes).digest("hex");
}
