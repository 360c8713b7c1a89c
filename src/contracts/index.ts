export {
  type Contract,
  ContractError,
  type ContractEvent,
  type ContractName,
  type Loss,
  type ModuleContract,
  type Outcome,
  type OutcomeError,
  type ToolAnnotations,
  type ToolDescription,
} from "./contract.ts";
export type { RunOptions, ToolRunner } from "./runner.ts";
