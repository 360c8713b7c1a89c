import { test } from "vitest";
import { expectArea } from "./area.ts";
import { URL_CASES, URL_PARTS } from "./data/url.ts";
import { SETTER_CASES } from "./data/url-setters.ts";

/** Node's parser, which is asked, takes names in Punycode that stand for no valid name. */
const LENIENT_HOSTS = ["xn--", "xn--a", "xn--zn7c.com"].map((host) => JSON.stringify([`http://${host}/`, null]));

test("URLs are parsed and written as the URL Standard says", async () => {
  const cases = URL_CASES.map(([input, base, href]) => ({
    name: JSON.stringify([input, base]),
    input: [input, base],
    expected: href === null ? ["throws TypeError", false, null] : [href, true, href],
  }));
  const answer = `([input, base]) => {
    const args = base === null ? [input] : [input, base];
    let made;
    try { made = new URL(...args).href; } catch (error) { made = "throws " + error.name; }
    return [made, URL.canParse(...args), URL.parse(...args)?.href ?? null];
  }`;
  await expectArea("url", answer, cases, LENIENT_HOSTS);
});

test("URLs have the parts that the URL Standard gives them", async () => {
  const cases = URL_PARTS.map(([input, ...parts]) => ({ name: input, input, expected: parts }));
  const answer = `(input) => {
    const { protocol, username, password, host, hostname, port, pathname, search, hash, origin } = new URL(input);
    return [protocol, username, password, host, hostname, port, pathname, search, hash, origin];
  }`;
  await expectArea("url parts", answer, cases);
});

test("a URL that was written out is parsed to itself", async () => {
  const written = URL_CASES.flatMap(([, , href]) => (href === null ? [] : [href]));
  const cases = [...new Set(written)].map((href) => ({ name: href, input: href, expected: href }));
  await expectArea("url again", "(input) => new URL(input).href", cases);
});

test("setters of URLs do as the URL Standard says", async () => {
  const cases = SETTER_CASES.map(([url, property, value, href]) => ({
    name: JSON.stringify([url, property, value]),
    input: [url, property, value],
    expected: href,
  }));
  const answer = `([input, property, value]) => {
    const url = new URL(input);
    // A property that can only be read ignores what sloppy code assigns to it.
    Reflect.set(url, property, value);
    return url.href;
  }`;
  await expectArea("url setters", answer, cases);
});
