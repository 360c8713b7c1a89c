export { type ToolCheck, validateModules, type Validation } from "./validate.ts";
