import { executorSuite } from "../../kernel/executor/suite.ts";

executorSuite("queue");
