import { MalformedPayload } from "../bytes/index.ts";
import type { InternalState } from "./internal-state.ts";
import { platformKeys, succeeds } from "./platform-class.ts";

/** `FormData` with its entries. Files among them are refused: nothing reads them without waiting. */
export const formDataState: InternalState<FormData> = {
  number: 19,
  is: (value): value is FormData => succeeds(() => entriesOf(value)),
  variant: () => 0,
  prototype: (variant) => (variant === 0 ? FormData.prototype : undefined),
  writeShell: () => {},
  readShell: () => new FormData(),
  writeBody(writer, form) {
    const entries = entriesOf(form);
    writer.varint(entries.length);
    for (const [name, value] of entries) {
      writer.string(name);
      writer.value(value);
    }
  },
  readBody(reader, form) {
    for (let left = reader.count(2); left > 0; left--) {
      const name = reader.text();
      const value = reader.value();
      if (typeof value !== "string") throw new MalformedPayload("an entry of a form in the payload is not text");
      // A subclass may have its own `append`, which is not to run.
      FormData.prototype.append.call(form, name, value);
    }
  },
  implies: (_form, key) => isKeyOfForm(key),
  leads: (form) => entriesOf(form).map(([name, value]) => ({ label: `.get(${JSON.stringify(name)})`, value })),
};

const isKeyOfForm = platformKeys(() => new FormData());

function entriesOf(form: object): [string, unknown][] {
  const entries: [string, unknown][] = [];
  const add = (value: unknown, name: string): void => {
    entries.push([name, value]);
  };
  Reflect.apply(FormData.prototype.forEach, form, [add]);
  return entries;
}
