import * as cheerio from "cheerio";
import fc from "fast-check";
import { marked } from "marked";
import { describe, expect, test } from "vitest";
import type { Fields, RegistrationRecord } from "../../../src/contrib/agentspace/index.ts";
import { writeForm } from "../../../src/contrib/agentspace/form.ts";
import { writeManPage } from "../../../src/contrib/agentspace/man-page.ts";
import { shownRecord } from "../../../src/contrib/agentspace/shown-record.ts";
import { sample } from "./bench.ts";

const WEATHER = sample("weather-forecast-v1");

const page = (record: RegistrationRecord) => writeManPage(shownRecord({ record }));
const form = (record: RegistrationRecord) => writeForm(shownRecord({ record }));
const withInput = (input: Fields): RegistrationRecord => ({
  ...WEATHER,
  tools_api_spec: { ...WEATHER.tools_api_spec, input },
});

/** Everything that means something to those who read Markdown or HTML, and a field's name like any other. */
const HOSTILE = `"'><script>alert(1)</script>|\n# [x](javascript:alert(1)) \`code\` <img src=x onerror=alert(1)> &amp;`;

describe("a man page", () => {
  test("says what the record says: for what, by whom, what goes in and comes out, and how it is run [C36]", () => {
    const text = page(WEATHER);
    const $ = cheerio.load(marked.parse(text, { async: false }));
    expect($("h1").text()).toBe("weather-forecast-v1");
    expect($("p").first().text()).toBe(WEATHER.tool_metadata?.description);
    const facts = $("li")
      .toArray()
      .map((one) => $(one).text());
    expect(facts).toEqual([
      "Version: 1.0.0",
      "Author: ClimateAI Team",
      "License: MIT",
      "Type: model-inference, weather-prediction",
      "Tags: weather, forecasting, api, time-series, prediction",
      "Runtime: python",
      "Configured by: weather_api_key, weather_api_base_url, temperature_unit, default_days",
    ]);
    const rows = $("tr")
      .toArray()
      .map((row) =>
        $(row)
          .find("td")
          .toArray()
          .map((cell) => $(cell).text()),
      )
      .filter((cells) => cells.length > 0);
    expect(rows).toEqual([
      ["location", "string", "no", "City or region for which to forecast the weather"],
      ["past_days", "integer", "no", "Number of past days to use for prediction; at least 1, at most 30"],
      ["predicted_temperature", "number", "no", "Predicted temperature (in Celsius) for the next day"],
      ["predicted_conditions", "string", "no", "Forecasted weather conditions (e.g., sunny, rainy)"],
      ["timeout", "number", "no", "Execution timeout in seconds; default 60"],
      ["retries", "number", "no", "Number of times to retry API call on failure; default 2"],
    ]);
    expect($("a").attr("href")).toBe("https://docs.example.com/tools/weather-forecast-v1");
  });

  test("shows nested fields by their paths [C36]", () => {
    const input: Fields = {
      place: { type: "object", required: true, properties: { city: { type: "string", enum: ["Rome", "Oslo"] } } },
      days: { type: "array", items: { type: "object", properties: { hour: { type: "integer" } } } },
    };
    const text = page(withInput(input)).replaceAll("\\", "");
    expect(text).toContain("| place | object | yes |");
    expect(text).toContain('| place.city | string | no | one of "Rome", "Oslo" |');
    expect(text).toContain("| days | array of object | no |");
    expect(text).toContain("| days[].hour | integer | no |");
  });

  test("takes what the record says for text, and for nothing else [C36]", () => {
    const record = {
      ...withInput({ [HOSTILE]: { type: "string", description: HOSTILE, default: HOSTILE } }),
      tool_metadata: { description: HOSTILE, author: HOSTILE },
      tool_tags: [HOSTILE],
      tool_data: { [HOSTILE]: 1 },
      tool_man_page_doc_link: "https://example.com/a>b<script>?q=<b> c",
    };
    const $ = cheerio.load(marked.parse(page(record), { async: false }));
    expect(
      $("script, img, h1, em, code")
        .toArray()
        .map((one) => one.tagName),
    ).toEqual(["h1"]);
    expect(
      $("a")
        .toArray()
        .map((one) => $(one).attr("href")),
    ).toEqual([expect.stringMatching(/^https:\/\/example\.com\//)]);
    expect($("table")).toHaveLength(3);
    expect($("table").first().find("tr")).toHaveLength(2);
  });
});

describe("a form", () => {
  test("has a control for each field of the input, with its bounds, and a label [C37]", () => {
    const input: Fields = {
      ...WEATHER.tools_api_spec.input,
      unit: { type: "string", enum: ["metric", "imperial"], default: "metric" },
      exact: { type: "boolean", default: true },
      factor: { type: "number", required: true },
      filter: { type: "object" },
    };
    const { fields, html, title } = form(withInput(input));
    expect(title).toBe(WEATHER.tool_metadata?.description);
    expect(fields).toMatchObject([
      { name: "location", label: "Location", control: "text", required: false },
      { name: "past_days", label: "Past days", control: "number", min: 1, max: 30, step: 1 },
      { name: "unit", control: "select", choices: ["metric", "imperial"], default: "metric" },
      { name: "exact", control: "checkbox", default: true },
      { name: "factor", control: "number", step: "any", required: true },
      { name: "filter", control: "json" },
    ]);
    const $ = cheerio.load(html);
    expect($("form").attr("data-tool-id")).toBe("weather-forecast-v1");
    for (const { name, label } of fields) {
      const control = $(`[name="${name}"]`);
      expect($(`label[for="${control.attr("id")}"]`).text()).toBe(label);
    }
    const days = $('[name="past_days"]');
    expect([days.attr("type"), days.attr("min"), days.attr("max"), days.attr("step")]).toEqual([
      "number",
      "1",
      "30",
      "1",
    ]);
    expect($(`#${days.attr("aria-describedby")}`).text()).toBe("Number of past days to use for prediction");
    expect($('[name="unit"] option[selected]').attr("value")).toBe("metric");
    expect($('[name="exact"]').attr("checked")).toBeDefined();
    expect($('[name="factor"]').attr("required")).toBeDefined();
    expect($("button[type=submit]")).toHaveLength(1);
  });

  test("takes what the record says for text, and for nothing else [C37]", () => {
    fc.assert(
      fc.property(fc.oneof(fc.constant(HOSTILE), fc.string()), (text) => {
        const field = { type: "string", description: text, default: text } as const;
        const record = {
          ...withInput({ [text]: field, b: { ...field, enum: [text] } }),
          tool_metadata: { description: text },
        };
        const $ = cheerio.load(form(record).html, {}, false);
        const all = $("*")
          .toArray()
          .map((one) => $(one));
        const known = ["FORM", "P", "DIV", "LABEL", "INPUT", "SMALL", "SELECT", "OPTION", "BUTTON"];
        expect(all.map((one) => one.prop("tagName")).filter((tag) => !known.includes(String(tag)))).toEqual([]);
        const attributes = new Set(all.flatMap((one) => Object.keys(one.attr() ?? {})));
        expect([...attributes].filter((name) => name.startsWith("on"))).toEqual([]);
        expect($("select, input")).toHaveLength(text === "b" ? 1 : 2);
      }),
    );
    const $ = cheerio.load(form(withInput({ [HOSTILE]: { type: "string" } })).html);
    expect($("input").attr("name")?.replaceAll("\r\n", "\n")).toBe(HOSTILE);
  });
});
