import {
  buildSchema,
  GraphQLError,
  GraphQLObjectType,
  GraphQLSchema,
  GraphQLString,
  graphqlSync,
  parse,
  print,
} from "graphql";
import { routine } from "wool-ts";
import { check, reasonOf } from "../check.mjs";

const query = new GraphQLObjectType({ name: "Query", fields: { a: { type: GraphQLString, resolve: () => "own" } } });
const schema = new GraphQLSchema({ query });
const built = buildSchema("type Query { a: Int }");
const document = parse("{ a }");

void check({
  binding: () => routine(() => graphqlSync({ schema: buildSchema("type Query { a: Int }"), source: "{ a }" }).errors)(),
  instance: () => routine(() => graphqlSync({ schema, source: "{ a }" }).data.a)(),
  built: () => routine(() => graphqlSync({ schema: built, source: "{ a }", rootValue: { a: 3 } }).data.a)(),
  document: () => routine(() => print(document))(),
  argument: () => routine((it) => graphqlSync({ schema: it, source: "{ a }" }).data.a)(schema),
  result: async () => print(await routine((source) => parse(source))("{ a }")),
  thrown: async () => {
    const error = await reasonOf(routine(() => parse("{"))());
    return [error instanceof GraphQLError, error.message, error.locations];
  },
});
