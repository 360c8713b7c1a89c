import { attack } from "./harness.ts";
import { SCENES } from "./scenes/cancelled.ts";

attack("calls that are cancelled", { scenes: { file: "cancelled", names: SCENES.map(({ name }) => name) } });
