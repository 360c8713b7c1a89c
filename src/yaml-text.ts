import { type Document, isScalar, parseDocument, visit } from "yaml";

/** What is wrong with a text that is no YAML, or more than is read. */
export class YamlError extends Error {
  override readonly name = "YamlError";
}

/** Few: each may stand for many. */
const ALIASES_MAX = 100;
/** Of all: for each, the parser looks through the document. */
const ALIASES_IN_ALL_MAX = 1_000;
const TOO_DEEP = "it is nested too deeply";

/**
 * The value of a document that is hostile input, in time that grows as it does. JSON is YAML as well. Throws a
 * `YamlError` whose message names no file.
 */
export function readYaml(text: string): unknown {
  let document: Document;
  try {
    // The parser compares each key with all others, which takes minutes where there are very many.
    document = parseDocument(text, { uniqueKeys: false });
  } catch {
    throw new YamlError(TOO_DEEP);
  }
  const [error] = document.errors;
  // The parser follows nesting by calling itself, and takes for the text's mistake that it cannot go on.
  if (error !== undefined)
    throw new YamlError(error.message.startsWith("Maximum call stack") ? TOO_DEEP : error.message);
  checkNodes(document);
  try {
    return document.toJS({ maxAliasCount: ALIASES_MAX }) as unknown;
  } catch (failure) {
    throw new YamlError(failure instanceof RangeError ? TOO_DEEP : "its aliases stand for too much");
  }
}

function checkNodes(document: Document): void {
  let aliases = 0;
  visit(document, {
    Alias: () => {
      if (++aliases > ALIASES_IN_ALL_MAX) throw new YamlError(`it has more than ${ALIASES_IN_ALL_MAX} aliases`);
    },
    Map: (_key, { items }) => {
      const keys = new Set<unknown>();
      for (const { key } of items) {
        const name: unknown = isScalar(key) ? key.value : key;
        if (keys.has(name))
          throw new YamlError(`map keys must be unique: ${JSON.stringify(String(name)).slice(0, 100)}`);
        keys.add(name);
      }
    },
  });
}
