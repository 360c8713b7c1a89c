import { executorSuite } from "../../executor/suite.ts";

executorSuite("queue");
