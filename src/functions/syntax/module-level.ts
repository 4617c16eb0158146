import type { AnyNode, Program } from "acorn";
import type { Scope } from "./scope.ts";

const wrappers = new WeakMap<Program, { readonly node: AnyNode; readonly body: readonly AnyNode[] } | undefined>();

/** The function that tsx puts around the whole content of a CommonJS file: `(() => { ... })()`. */
function wrapperOf(program: Program): { readonly node: AnyNode; readonly body: readonly AnyNode[] } | undefined {
  if (!wrappers.has(program)) wrappers.set(program, findWrapper(program));
  return wrappers.get(program);
}

function findWrapper({ body }: Program): { readonly node: AnyNode; readonly body: readonly AnyNode[] } | undefined {
  const last = body.at(-1);
  const isAlone = body.slice(0, -1).every((statement) => {
    return (
      statement.type === "ExpressionStatement" && /^(?:AssignmentExpression|Literal)$/.test(statement.expression.type)
    );
  });
  if (!isAlone || last?.type !== "ExpressionStatement" || last.expression.type !== "CallExpression") return undefined;
  const { callee, arguments: args } = last.expression;
  if (callee.type !== "ArrowFunctionExpression" || callee.params.length + args.length > 0) return undefined;
  return callee.body.type === "BlockStatement" ? { node: callee, body: callee.body.body } : undefined;
}

/** True for the scope whose variables are those of the module. */
export function isModuleLevel(scope: Scope, program: Program): boolean {
  return scope.kind === "top" || scope.node === wrapperOf(program)?.node;
}

/** The top-level statements of the module. */
export function moduleBody(program: Program): readonly AnyNode[] {
  return wrapperOf(program)?.body ?? program.body;
}
