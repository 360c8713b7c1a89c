/** All faults, in the order in which they are run and shown. */
import type { Fault } from "./fault.ts";
import { MACHINE_FAULTS } from "./machine-faults.ts";
import { REDIS_FAULTS } from "./redis-faults.ts";
import { SERVER_FAULTS } from "./server-faults.ts";
import { START_FAULTS } from "./start-faults.ts";
import { STORE_FAULTS } from "./store-faults.ts";

export const FAULTS: readonly Fault[] = [
  ...START_FAULTS,
  ...SERVER_FAULTS,
  ...STORE_FAULTS,
  ...REDIS_FAULTS,
  ...MACHINE_FAULTS,
];
