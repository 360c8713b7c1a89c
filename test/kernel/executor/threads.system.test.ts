import { executorSuite } from "./suite.ts";

executorSuite("threads");
