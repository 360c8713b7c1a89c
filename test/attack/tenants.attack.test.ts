import { attack } from "./harness.ts";
import { SCENES } from "./scenes/tenants.ts";

attack("tenants beside one another", { scenes: { file: "tenants", names: SCENES.map(({ name }) => name) } });
