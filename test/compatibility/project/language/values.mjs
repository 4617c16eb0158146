import { routine } from "wool-ts";
import { check } from "../check.mjs";

function Big(value) {
  this.value = value;
}
Big.prototype.plus = function (other) {
  return new Big(this.value + other);
};
Big.prototype[Symbol.toStringTag] = "Big";

function Point(x) {
  this.x = x;
}
function Money(value) {
  this.constructor = Money;
  this.value = value;
}
Money.prototype = {
  double() {
    return new Money(this.value * 2);
  },
};

const big = new Big(2);
const encoder = new TextEncoder();
const decoder = new TextDecoder("latin1");
const numbers = new Intl.NumberFormat("de-DE", { minimumFractionDigits: 2 });
const dates = new Intl.DateTimeFormat("en-GB", { dateStyle: "long", timeZone: "UTC" });
const plural = new Intl.PluralRules("en");
const collator = new Intl.Collator("sv");
const blob = new Blob(["hello"], { type: "text/plain" });
const file = new File(["hello"], "a.txt");
const form = new FormData();
form.set("a", "1");
const settled = Promise.resolve(5);
const url = new URL("http://example.org/?a=1");
const { searchParams } = url;
const notes = new WeakMap([[big, "seen"]]);
const seen = new WeakSet([big]);

class Account {
  constructor(balance) {
    this.balance = balance;
    this.report = routine(this.report);
  }
  report() {
    return this.balance;
  }
}
const method = routine(function () {
  return this?.balance;
});

class Shape {
  area() {
    return 1;
  }
}
const area = routine(() => new Shape().area());
function replace(target, name, value) {
  target[name] = value;
}

void check({
  "ES5 instance with a tag": () => routine(() => big.plus(1).value)(),
  "ES5 instance passed": () => routine((it) => [it.plus(1).value, it instanceof Big])(big),
  "ES5 instance passed again, and changed meanwhile": async () => {
    const use = routine((it) => [it.plus(1) instanceof Big, it instanceof Big, Object.keys(Big.prototype), Big.made]);
    const before = await use(big);
    Big.made = 1;
    Big.prototype.times = () => 1;
    const between = await use(big);
    delete Big.prototype.times;
    delete Big.made;
    return [before, between, await use(new Big(3))];
  },
  "ES5 instance without methods": () => routine((it) => [it.x, it instanceof Point])(new Point(1)),
  "ES5 instance of another prototype": () =>
    routine((it) => {
      const twice = it.double();
      return [twice.value, it instanceof Money, twice instanceof Money, Money.prototype.isPrototypeOf(it)];
    })(new Money(4)),
  "ES5 instance returned": async () => {
    const made = await routine(() => new Money(5))();
    return [made.value, made instanceof Money, made.double().value];
  },
  TextEncoder: () => routine(() => [...encoder.encode("é")])(),
  TextDecoder: () => routine(() => decoder.decode(Uint8Array.of(233)))(),
  "Intl.NumberFormat": () => routine(() => numbers.format(1234.5))(),
  "Intl.DateTimeFormat": () => routine(() => dates.format(0))(),
  "Intl.PluralRules": () => routine(() => plural.select(1))(),
  "Intl.Collator": () => routine(() => ["ö", "a", "z"].sort(collator.compare))(),
  Blob: () => routine(async () => [await blob.text(), blob.type])(),
  File: () => routine(async () => [await file.text(), file.name])(),
  FormData: () => routine(() => form.get("a"))(),
  "a settled promise": () => routine(async () => await settled)(),
  "a URL and its parameters": () =>
    routine(() => {
      searchParams.set("a", "2");
      return url.href;
    })(),
  WeakMap: () => routine(() => notes.get(big))(),
  "WeakMap and an argument": () => routine((it) => notes.get(it))(big),
  WeakSet: () => routine(() => seen.has(big))(),
  "this of a property": () => new Account(5).report(),
  "this by call": () => method.call({ balance: 7 }),
  "this by bind": () => method.bind({ balance: 8 })(),
  "a method replaced by a helper": async () => {
    const before = await area();
    replace(Shape.prototype, "area", () => 2);
    const after = await area();
    replace(Shape.prototype, "area", () => 1);
    return [before, after];
  },
});
