import { fileURLToPath } from "node:url";
import { goldenTools } from "./foreign-tools/suite.ts";

/** Where the golden modules are: the repository has these libraries for its adapters. */
const PLACE = fileURLToPath(new URL("foreign-tools", import.meta.url));

for (const library of ["ai-sdk", "openai-agents", "langchain", "mcp-server"]) goldenTools(library, () => PLACE);
