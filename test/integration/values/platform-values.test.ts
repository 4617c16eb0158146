import { openAsBlob } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { routine, SerializationError, WorkerPool } from "wool-ts";
import { poolOf } from "../../support/pool-of.ts";
import { errorOf } from "../../support/reason-of.ts";

let pool: WorkerPool;

beforeAll(async () => {
  pool = await poolOf(1);
});
afterAll(async () => {
  await pool.stop();
});

const echo = routine(async (value: unknown) => value);

async function there<T>(value: T): Promise<T> {
  return (await echo(value)) as T;
}

const refusal = (call: Promise<unknown>) => errorOf(call, SerializationError);

describe("objects of Intl work the same elsewhere", () => {
  const date = new Date(Date.UTC(2024, 1, 29, 15, 4, 5, 678));
  const numbers = [0, -0.5, 1234.567, 1_234_567.891, 0.000_123, 99.995, 12n ** 20n];
  const formats: [string, Intl.NumberFormat][] = [
    ["plain", new Intl.NumberFormat("de")],
    ["a currency", new Intl.NumberFormat("en-IN", { style: "currency", currency: "INR", currencySign: "accounting" })],
    ["compact", new Intl.NumberFormat("en", { notation: "compact" })],
    ["scientific", new Intl.NumberFormat("fr", { notation: "scientific", maximumSignificantDigits: 3 })],
    ["a unit", new Intl.NumberFormat("sv", { style: "unit", unit: "kilometer-per-hour", unitDisplay: "long" })],
    ["another numbering system", new Intl.NumberFormat("ar-EG-u-nu-arab", { style: "percent" })],
    ["digits", new Intl.NumberFormat("en", { minimumFractionDigits: 2, maximumFractionDigits: 2, useGrouping: false })],
  ];

  test.each(formats)("NumberFormat, %s", async (_name, format) => {
    const back = await there(format);
    expect(back).toBeInstanceOf(Intl.NumberFormat);
    expect(back.resolvedOptions()).toEqual(format.resolvedOptions());
    expect(numbers.map((n) => back.format(n))).toEqual(numbers.map((n) => format.format(n)));
  });

  const dateFormats: [string, Intl.DateTimeFormat][] = [
    ["plain", new Intl.DateTimeFormat("en-GB")],
    ["styles", new Intl.DateTimeFormat("ja", { dateStyle: "full", timeStyle: "long", timeZone: "Asia/Tokyo" })],
    ["fields", new Intl.DateTimeFormat("es", { weekday: "short", month: "long", day: "2-digit", timeZone: "UTC" })],
    ["hours", new Intl.DateTimeFormat("en", { hour: "numeric", minute: "2-digit", hourCycle: "h23", timeZone: "UTC" })],
    ["a calendar", new Intl.DateTimeFormat("th-u-ca-buddhist", { dateStyle: "long", timeZone: "UTC" })],
    ["milliseconds", new Intl.DateTimeFormat("en", { second: "numeric", fractionalSecondDigits: 2, timeZone: "UTC" })],
  ];

  test.each(dateFormats)("DateTimeFormat, %s", async (_name, format) => {
    const back = await there(format);
    expect(back.resolvedOptions()).toEqual(format.resolvedOptions());
    expect(back.formatToParts(date)).toEqual(format.formatToParts(date));
  });

  test("the others", async () => {
    const words = ["Öl", "Zebra", "a10", "a2", "Ähre"];
    const collator = new Intl.Collator("de", { numeric: true, sensitivity: "base" });
    const back = await there({
      collator,
      plural: new Intl.PluralRules("en", { type: "ordinal" }),
      list: new Intl.ListFormat("nl", { type: "disjunction", style: "short" }),
      relative: new Intl.RelativeTimeFormat("pt", { numeric: "auto" }),
      segmenter: new Intl.Segmenter("ja", { granularity: "word" }),
      names: new Intl.DisplayNames("it", { type: "region" }),
      locale: new Intl.Locale("zh-Hant-TW-u-hc-h12"),
    });
    expect(words.toSorted(back.collator.compare)).toEqual(words.toSorted(collator.compare));
    expect([1, 2, 3, 4].map((n) => back.plural.select(n))).toEqual(["one", "two", "few", "other"]);
    expect(back.list.format(["a", "b"])).toBe("a of b");
    expect(back.relative.format(-1, "day")).toBe("ontem");
    expect([...back.segmenter.segment("吾輩は猫")].map(({ segment }) => segment)).toEqual(["吾輩", "は", "猫"]);
    expect(back.names.of("JP")).toBe("Giappone");
    expect([back.locale.toString(), back.locale.hourCycle]).toEqual(["zh-Hant-TW-u-hc-h12", "h12"]);
  });

  test("captured, and inside of a class of the user's", async () => {
    const euro = new Intl.NumberFormat("de", { style: "currency", currency: "EUR" });
    class Price {
      readonly format = euro;
      readonly amount = 3;
    }
    const price = new Price();
    const show = routine(async (amount: number) => [euro.format(amount), price.format.format(price.amount)]);
    expect(await show(2)).toEqual([euro.format(2), euro.format(3)]);
  });
});

describe("text encoders and decoders", () => {
  test("captured, passed and returned", async () => {
    const encoder = new TextEncoder();
    const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
    const recode = routine(async (given: typeof decoder) => ({
      text: given.decode(encoder.encode("grüße")),
      given,
      encoder,
    }));
    const back = await recode(decoder);
    expect(back.text).toBe("grüße");
    expect([back.given.fatal, back.given.ignoreBOM, back.given.encoding]).toEqual([true, true, "utf-8"]);
    expect(() => back.given.decode(Uint8Array.of(0xff))).toThrow(TypeError);
    expect(back.encoder.encode("a")).toEqual(Uint8Array.of(97));
    expect(Reflect.ownKeys(back.encoder).length).toBe(Reflect.ownKeys(encoder).length);
  });

  test("a decoder in the middle of a stream is refused, and not changed", async () => {
    const decoder = new TextDecoder();
    decoder.decode(Uint8Array.of(0xc3), { stream: true });
    const error = await refusal(echo({ decoder }));
    expect(error.path).toBe("args[0].decoder");
    expect(error.message).toMatch(/may hold part of a character/);
    expect(decoder.decode(Uint8Array.of(0xbc))).toBe("ü");
  });
});

describe("forms", () => {
  test("keep their entries in order", async () => {
    const form = new FormData();
    form.append("a", "1");
    form.append("b", "grüße");
    form.append("a", "2");
    const read = routine(async (given: FormData) => ({ keys: [...given.keys()], all: given.getAll("a"), given }));
    const { given, ...rest } = await read(form);
    expect(rest).toEqual({ keys: ["a", "b", "a"], all: ["1", "2"] });
    expect(given).toBeInstanceOf(FormData);
    expect([...given]).toEqual([...form]);
  });

  test("keep their files, and blobs and files their bytes and what is said of them", async () => {
    const file = new File(["x", Uint8Array.of(0, 255)], "x.bin", { type: "a/b", lastModified: 5 });
    const form = new FormData();
    form.append("file", file);
    form.append("again", file);
    const text = new Blob(["hello ", new Blob(["world!"]).slice(0, 5)], { type: "text/plain" });
    const read = routine(async (given: FormData) => {
      const sent = given.get("file");
      const bytes = sent instanceof File ? [...new Uint8Array(await sent.arrayBuffer())] : [];
      return { bytes, same: sent === given.get("again"), text: await text.text(), type: text.type, given, sent };
    });
    const { given, sent, ...rest } = await read(form);
    expect(rest).toEqual({ bytes: [120, 0, 255], same: true, text: "hello world", type: "text/plain" });
    expect(given.get("file")).toBe(sent);
    expect(sent).toBeInstanceOf(File);
    expect(sent).toMatchObject({ name: "x.bin", type: "a/b", lastModified: 5, size: 3 });
    expect(await (await there(new Blob([]))).text()).toBe("");
    expect(await (await there(new Blob(["abc"]).slice(0, 2))).text()).toBe("ab");
    const large = new Uint8Array(300_000).fill(7);
    expect(new Uint8Array(await (await there(new Blob([large, large]))).arrayBuffer())).toHaveLength(600_000);
  });

  test("with the blob of a file are refused with what to pass instead", async () => {
    const form = new FormData();
    form.append("file", await openAsBlob(fileURLToPath(import.meta.url)));
    const error = await refusal(echo({ form }));
    expect(error.path).toBe('args[0].form.get("file")');
    expect(error.message).toMatch(/Pass its bytes: await blob\.arrayBuffer\(\)/);
  });
});

describe("promises", () => {
  test("that are settled arrive settled", async () => {
    const ready = Promise.resolve({ n: 1 });
    const failed = Promise.reject(new RangeError("no"));
    failed.catch(() => {});
    const use = routine(async (given: { failed: Promise<never> }) => {
      const reason: unknown = await given.failed.catch((error: unknown) => error);
      return [(await ready).n, reason instanceof RangeError && reason.message];
    });
    expect(await use({ failed })).toEqual([1, "no"]);
    const back = await there({ ready, again: ready });
    expect(back.ready).toBeInstanceOf(Promise);
    expect(back.again).toBe(back.ready);
    expect(await back.ready).toEqual({ n: 1 });
    const raised = await there({ failed });
    await expect(raised.failed).rejects.toThrow(RangeError);
  });

  test("that are not settled are refused until they are", async () => {
    let settle: (value: string) => void = () => {};
    const config = new Promise<string>((resolve) => {
      settle = resolve;
    });
    const use = routine(async () => `${await config}!`);
    expect((await refusal(use())).message).toMatch(/config: a Promise that is not settled.*Await it/);
    settle("loaded");
    expect(await use()).toBe("loaded!");
  });

  test("of something with a method then are refused", async () => {
    const late = {};
    const promise = Promise.resolve(late);
    await promise;
    Object.assign(late, { then: () => {} });
    expect((await refusal(echo({ promise }))).message).toMatch(/a then method/);
  });
});

describe("a URL and its search parameters", () => {
  test("stay tied, whichever comes first", async () => {
    const url = new URL("https://example.com/?a=1");
    const params = url.searchParams;
    const first = routine(async () => {
      params.append("b", "2");
      return [url.href, url.searchParams === params];
    });
    expect(await first()).toEqual(["https://example.com/?a=1&b=2", true]);
    for (const value of [
      { params, url },
      { url, params },
    ]) {
      const back = await there(value);
      expect(back.url.searchParams).toBe(back.params);
      back.params.set("a", "x y");
      expect(back.url.href).toBe("https://example.com/?a=x+y");
    }
    expect(url.href).toBe("https://example.com/?a=1");
  });

  test("parameters alone are parameters", async () => {
    const back = await there({ params: new URLSearchParams("?q=%20ü&q=2") });
    expect(back.params.getAll("q")).toEqual([" ü", "2"]);
    back.params.append("r", "&");
    expect(back.params.toString()).toBe("q=+%C3%BC&q=2&r=%26");
  });
});
