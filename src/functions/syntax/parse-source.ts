import { type Program, parse } from "acorn";

/** Parses a module or a script. Throws a `SyntaxError` that acorn raises. */
export function parseSource(source: string, isModule: boolean): Program {
  return parse(source, {
    ecmaVersion: "latest",
    sourceType: isModule ? "module" : "script",
    allowAwaitOutsideFunction: isModule,
    allowReturnOutsideFunction: !isModule,
    allowSuperOutsideMethod: true,
    allowHashBang: true,
    checkPrivateFields: false,
  });
}
