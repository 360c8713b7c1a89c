/** Writes the declarations of the sample catalog, registered in reversed order, as JSON. */
import { catalogOf } from "../../../fixtures/code-mode/catalog.ts";
import { declareWithin } from "../../../src/code-mode/declarations.ts";
import type { ToolDescription } from "../../../src/kernel/tool/contracts/contract.ts";

const tools = (catalogOf() as readonly ToolDescription[]).toReversed();
const { text } = declareWithin(tools, { tokens: 4_000, isPinned: () => false });
process.stdout.write(JSON.stringify(text));
