import { executorSuite } from "./suite.ts";

executorSuite("queue");
