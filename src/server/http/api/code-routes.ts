import { json, problemJson, refusals, type RouteDescription } from "./route-description.ts";
import { SCHEMAS } from "./schemas.ts";

const DECLARATIONS = {
  type: "object",
  properties: {
    text: { type: "string", description: "The declarations, in TypeScript." },
    declared: { type: "array", items: { type: "string" }, description: "Names of the tools in the text." },
    total: { type: "integer", description: "Number of all tools." },
  },
  required: ["text", "declared", "total"],
};

const PROBLEMS = {
  type: "object",
  properties: {
    problems: {
      type: "array",
      items: {
        type: "object",
        properties: {
          line: { type: "integer" },
          column: { type: "integer" },
          code: { type: "string" },
          message: { type: "string" },
        },
        required: ["line", "column", "code", "message"],
      },
    },
  },
  required: ["problems"],
};

const NO_CODE_MODE = "The server has no code mode.";

export const GET_DECLARATIONS: RouteDescription = {
  id: "getDeclarations",
  tag: "calls",
  summary: "Declares tools in TypeScript for a model that writes programs.",
  answers: { 200: json("The declarations.", DECLARATIONS), 404: problemJson(NO_CODE_MODE, SCHEMAS.PlainError) },
};

export const CHECK_PROGRAM: RouteDescription = {
  id: "checkProgram",
  tag: "calls",
  summary: "Finds the mistakes of a program without running it.",
  body: {
    "application/json": {
      schema: { type: "object", properties: { code: { type: "string" } }, required: ["code"] },
      example: { code: "return await tools.echo({ message: 'hi' });" },
    },
  },
  answers: {
    200: json("The mistakes; none where the program can be run.", PROBLEMS, { problems: [] }),
    ...refusals({ 400: "The body has no text of a program.", 404: "The key does not name run_code." }),
  },
};
