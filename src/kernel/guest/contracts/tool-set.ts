import type { ToolFacts } from "../tool-context.ts";
import { type Adapter, type Exports, isObject, type ToolFunction } from "./adapter.ts";
import { cut, findTools, type FoundTool } from "./find-tools.ts";
import type { LibraryTool } from "./library.ts";

/** Describes schemas. The host gives it to a module that is described, and to no call. */
type DescribeSchema = (schema: unknown, side: "input" | "output") => Promise<object>;

/** A module that exports tools of other libraries: each of them is a separate tool. */
export const toolSetAdapter: Adapter = {
  name: "tools",
  matches: (exports) => findTools(exports).length > 0,
  describe: (exports, facts, schemas) =>
    typeof schemas === "function" ? describeTools(exports, facts, schemas as DescribeSchema) : null,
  open: (exports, facts) => {
    const found = findTools(exports);
    const named = found.find(({ name }) => name === facts.name);
    if (named !== undefined) return openOne(named, facts);
    // Only a server has the names of its tools; a default export without a name has that of its module.
    const others = found.filter(
      ({ name, library, place }) => library.has !== undefined || (name ?? place) === "default",
    );
    const [only] = others;
    if (only !== undefined && others.length === 1) return openOne(only, facts);
    return async (input, context, command) =>
      openOne(await serverOf(others, facts.name), facts)(input, context, command);
  },
};

function openOne({ library, value }: FoundTool, facts: ToolFacts): ToolFunction {
  return library.open(value, facts);
}

async function serverOf(found: readonly FoundTool[], name: string): Promise<FoundTool> {
  for (const one of found) if ((await one.library.has?.(one.value, name)) !== false) return one;
  throw new TypeError(`the module exports no tool "${name}" any more`);
}

/**
 * `{ tools, refused }`, or `{ problem }` if the whole module is refused, in words of its author. A tool that cannot be
 * called here does not affect the module's others.
 */
async function describeTools(exports: Exports, facts: ToolFacts, describe: DescribeSchema): Promise<object> {
  const tools: object[] = [];
  const refused: object[] = [];
  const places = new Map<string, string>();
  for (const { place, name = facts.name, library, value } of findTools(exports)) {
    const isNameless = place.endsWith("]") && library.nameOf(value) === undefined && library.has === undefined;
    const noName = isNameless ? "has no name; export it by name, or in a record" : undefined;
    const problem = (await library.refusal(value)) ?? noName;
    if (problem !== undefined) {
      refused.push({ name: isNameless ? cut(place) : cut(name), problem: `exports ${cut(place)}, which ${problem}` });
      continue;
    }
    const described = await library.describe(value);
    for (const one of Array.isArray(described) ? (described as readonly LibraryTool[]) : [described as LibraryTool]) {
      const called = one.name ?? name;
      const other = places.get(called);
      if (other !== undefined)
        return { problem: `exports two tools "${cut(called)}": ${cut(other)} and ${cut(place)}; name one otherwise` };
      places.set(called, place);
      try {
        tools.push({ ...(await definitionOf(one, called, place, describe)), place, library: library.name });
      } catch (error) {
        const why = isObject(error) ? String(Reflect.get(error, "message")) : String(error);
        refused.push({ name: cut(called), problem: `exports ${cut(place)}, which is refused: ${why}` });
      }
    }
  }
  return { tools, refused };
}

async function definitionOf(tool: LibraryTool, name: string, place: string, describe: DescribeSchema): Promise<object> {
  const { description = name, input, output, wraps = false, title, asks, listed = null } = tool;
  const describedAs = async (schema: unknown, side: "input" | "output"): Promise<object | null> => {
    if (schema === undefined || schema === null) return null;
    try {
      return await describe(schema, side);
    } catch (error) {
      const why = isObject(error) ? String(Reflect.get(error, "message")) : String(error);
      throw new TypeError(`the ${side} schema of ${cut(place)} cannot be described: ${why}`, { cause: error });
    }
  };
  return {
    name,
    description,
    input: await describedAs(input, "input"),
    output: await describedAs(output, "output"),
    wraps,
    ...(title === undefined ? {} : { title }),
    ...(asks === undefined ? {} : { asks }),
    listed,
  };
}
