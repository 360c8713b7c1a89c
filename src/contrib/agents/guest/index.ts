import type { Library } from "../../../kernel/guest/contracts/library.ts";
import { aiSdk } from "./ai-sdk.ts";
import { langchain } from "./langchain.ts";
import { mastra } from "./mastra.ts";
import { mcpServer } from "./mcp-server.ts";
import { openaiAgents } from "./openai-agents.ts";
import { plain } from "./plain.ts";

/** In matching order: more specific shapes come before those that match more objects. */
export const libraries: readonly Library[] = [mcpServer, openaiAgents, langchain, mastra, aiSdk, plain];
