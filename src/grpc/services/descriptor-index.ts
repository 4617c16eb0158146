import type { DescFile } from "@bufbuild/protobuf";
import { nestedTypes } from "@bufbuild/protobuf/reflect";

/** Finds protobuf files by their content: the given files and all of their dependencies. */
export class DescriptorIndex {
  /** Full names of the services in the given files and their dependencies, sorted. */
  readonly services: readonly string[];
  readonly #byName = new Map<string, DescFile>();
  readonly #bySymbol = new Map<string, DescFile>();
  readonly #extensions = new Map<string, Map<number, DescFile>>();

  constructor(files: Iterable<DescFile>) {
    const services: string[] = [];
    const pending = new Set(files);
    // Iterating a set also visits the items that are added meanwhile.
    for (const file of pending) {
      if (this.#byName.has(file.proto.name)) continue;
      for (const dependency of file.dependencies) pending.add(dependency);
      this.#byName.set(file.proto.name, file);
      for (const { typeName } of file.services) services.push(typeName);
      this.#addSymbols(file);
    }
    this.services = services.toSorted();
  }

  /** The file with a name such as `wool/v1/worker.proto`. */
  fileNamed(name: string): DescFile | undefined {
    return this.#byName.get(name);
  }

  /** The file that declares a service, method, message, field, oneof, enum, enum value or extension, by its full name. */
  fileWithSymbol(symbol: string): DescFile | undefined {
    return this.#bySymbol.get(symbol.replace(/^\./, ""));
  }

  /** The known extensions of a message, by number, with the files that declare them; undefined for an unknown message. */
  extensionsOf(typeName: string): ReadonlyMap<number, DescFile> | undefined {
    return this.#extensions.get(typeName.replace(/^\./, ""));
  }

  #addSymbols(file: DescFile): void {
    const declare = (symbol: string): void => void this.#bySymbol.set(symbol, file);
    for (const type of nestedTypes(file)) {
      declare(type.typeName);
      switch (type.kind) {
        case "service":
          for (const method of type.methods) declare(`${type.typeName}.${method.name}`);
          break;
        case "message":
          this.#extensionsFor(type.typeName);
          for (const field of type.fields) declare(`${type.typeName}.${field.name}`);
          for (const oneof of type.oneofs) declare(`${type.typeName}.${oneof.name}`);
          break;
        case "enum": {
          // The values of an enum are its siblings, not its children.
          const scope = type.typeName.slice(0, type.typeName.length - type.name.length);
          for (const value of type.values) declare(scope + value.name);
          break;
        }
        case "extension":
          this.#extensionsFor(type.extendee.typeName).set(type.number, file);
          break;
      }
    }
  }

  #extensionsFor(typeName: string): Map<number, DescFile> {
    const known = this.#extensions.get(typeName);
    if (known !== undefined) return known;
    const created = new Map<number, DescFile>();
    this.#extensions.set(typeName, created);
    return created;
  }
}
