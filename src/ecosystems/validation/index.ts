export type { Check } from "./check.ts";
export { type ToolCheck, validateModules, type Validation } from "./validate.ts";
