import { cliPage } from "./cli.ts";
import { configPage, configSchema } from "./config.ts";
import { conformancePage } from "./conformance.ts";
import { ecosystemsPage } from "./ecosystems.ts";
import { errorPages } from "./errors.ts";
import { eventsPage } from "./events.ts";
import { exportsPage } from "./exports.ts";
import { faultsPage } from "./faults.ts";
import { httpPage } from "./http.ts";
import { licencesPage } from "./licences.ts";
import { limitsPage } from "./limits.ts";
import { llmsPage } from "./llms.ts";
import { metricsPage } from "./metrics.ts";
import { nodePage } from "./node.ts";
import { platformsPage } from "./platforms.ts";
import { valuesPage } from "./values.ts";
import { whoPaysPage } from "./who-pays.ts";

/** The command that writes the pages. */
export const COMMAND = "npm run docs";

/** The generated pages, by their paths below `docs`. */
export async function generatedPages(): Promise<ReadonlyMap<string, string>> {
  const reference = await referencePages();
  const pages = new Map([
    ...[...reference].map(([name, text]) => [`reference/${name}`, text] as const),
    ["explanation/who-pays.md", whoPaysPage()],
  ]);
  return pages.set("../llms.txt", llmsPage(pages));
}

async function referencePages(): Promise<ReadonlyMap<string, string>> {
  return new Map([
    ...errorPages(),
    ["cli.md", cliPage()],
    ["config.md", await configPage()],
    ["config.schema.json", configSchema()],
    ["conformance.md", conformancePage()],
    ["ecosystems.md", ecosystemsPage()],
    ["events.md", eventsPage()],
    ["exports.md", await exportsPage()],
    ["faults.md", faultsPage()],
    ["http.md", await httpPage()],
    ["licences.md", licencesPage()],
    ["limits.md", limitsPage()],
    ["metrics.md", await metricsPage()],
    ["node.md", nodePage()],
    ["platforms.md", platformsPage()],
    ["values.md", valuesPage()],
  ]);
}
