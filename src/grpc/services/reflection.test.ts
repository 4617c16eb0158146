import {
  create,
  createFileRegistry,
  type DescFile,
  fromBinary,
  type MessageInitShape,
  toBinary,
} from "@bufbuild/protobuf";
import {
  FieldDescriptorProto_Label,
  FieldDescriptorProto_Type,
  type FileDescriptorProto,
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
} from "@bufbuild/protobuf/wkt";
import * as grpc from "@grpc/grpc-js";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  ServerReflectionRequestSchema,
  type ServerReflectionResponse,
  ServerReflectionResponseSchema,
} from "../../gen/grpc/reflection/v1/reflection_pb.ts";
import { addReflection, GrpcServer, StatusCode } from "../index.ts";

type Request = NonNullable<MessageInitShape<typeof ServerReflectionRequestSchema>["messageRequest"]>;

const { INT32, ENUM } = FieldDescriptorProto_Type;
const { OPTIONAL } = FieldDescriptorProto_Label;

/** `zoo.proto` imports `base.proto`; it has every kind of symbol. */
function describeZoo(): DescFile[] {
  const set = create(FileDescriptorSetSchema, {
    file: [
      {
        name: "zoo/base.proto",
        package: "zoo",
        syntax: "proto2",
        messageType: [{ name: "Base", extensionRange: [{ start: 100, end: 200 }] }],
      },
      {
        name: "zoo/zoo.proto",
        package: "zoo",
        syntax: "proto2",
        dependency: ["zoo/base.proto"],
        messageType: [
          {
            name: "Animal",
            field: [
              { name: "legs", number: 1, type: INT32, label: OPTIONAL, oneofIndex: 0 },
              { name: "mood", number: 2, type: ENUM, typeName: ".zoo.Animal.Mood", label: OPTIONAL },
            ],
            oneofDecl: [{ name: "body" }],
            enumType: [{ name: "Mood", value: [{ name: "CALM", number: 0 }] }],
            nestedType: [{ name: "Den" }],
            extension: [{ name: "inner", number: 101, extendee: ".zoo.Base", type: INT32, label: OPTIONAL }],
          },
        ],
        enumType: [{ name: "Size", value: [{ name: "SMALL", number: 0 }] }],
        extension: [{ name: "outer", number: 150, extendee: ".zoo.Base", type: INT32, label: OPTIONAL }],
        service: [{ name: "Keeper", method: [{ name: "Feed", inputType: ".zoo.Animal", outputType: ".zoo.Base" }] }],
      },
    ],
  });
  const file = createFileRegistry(set).getFile("zoo/zoo.proto");
  if (file === undefined) throw new Error("the registry lost a file");
  return [file];
}

let server: GrpcServer;
let client: grpc.Client;
let loads: number;

beforeEach(async () => {
  loads = 0;
  server = new GrpcServer();
  addReflection(server, () => {
    loads++;
    return Promise.resolve(describeZoo());
  });
  const { port } = await server.listen({ host: "127.0.0.1", port: 0 });
  client = new grpc.Client(`127.0.0.1:${port}`, grpc.credentials.createInsecure());
});
afterEach(async () => {
  client.close();
  await server.close();
});

/** Sends all requests on one stream and gives the answers and the final code. */
async function ask(
  version: string,
  ...requests: Request[]
): Promise<{ answers: ServerReflectionResponse[]; code: number }> {
  const call = client.makeBidiStreamRequest(
    `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`,
    (messageRequest: Request) => {
      const request = create(ServerReflectionRequestSchema, { host: "h", messageRequest });
      return Buffer.from(toBinary(ServerReflectionRequestSchema, request));
    },
    (bytes: Buffer) => fromBinary(ServerReflectionResponseSchema, bytes),
  );
  const answers: ServerReflectionResponse[] = [];
  call.on("data", (answer: ServerReflectionResponse) => answers.push(answer));
  call.on("error", () => {});
  for (const request of requests) call.write(request);
  call.end();
  const { code } = await new Promise<grpc.StatusObject>((resolve) => call.on("status", resolve));
  return { answers, code };
}

function files(answer: ServerReflectionResponse | undefined): FileDescriptorProto[] {
  if (answer?.messageResponse.case !== "fileDescriptorResponse")
    throw new Error(`no files: ${answer?.messageResponse.case}`);
  return answer.messageResponse.value.fileDescriptorProto.map((bytes) => fromBinary(FileDescriptorProtoSchema, bytes));
}

describe.each(["v1", "v1alpha"])("reflection %s", (version) => {
  it("lists the services, its own among them", async () => {
    const { answers, code } = await ask(version, { case: "listServices", value: "" });
    expect(code).toBe(StatusCode.OK);
    expect(answers.map(({ messageResponse }) => messageResponse)).toMatchObject([
      {
        case: "listServicesResponse",
        value: {
          service: [
            { name: "grpc.health.v1.Health" },
            { name: "grpc.reflection.v1.ServerReflection" },
            { name: "grpc.reflection.v1alpha.ServerReflection" },
            { name: "zoo.Keeper" },
          ],
        },
      },
    ]);
    expect(answers[0]).toMatchObject({ validHost: "h", originalRequest: { messageRequest: { case: "listServices" } } });
  });

  it("gives a file by its name, with the files that it needs", async () => {
    const { answers } = await ask(version, { case: "fileByFilename", value: "zoo/zoo.proto" });
    expect(files(answers[0]).map(({ name }) => name)).toEqual(["zoo/zoo.proto", "zoo/base.proto"]);
    expect(files(answers[0])[0]?.service[0]?.method[0]?.name).toBe("Feed");
  });

  it("gives the file of every kind of symbol", async () => {
    const symbols = [
      "zoo.Keeper",
      "zoo.Keeper.Feed",
      "zoo.Animal",
      ".zoo.Animal",
      "zoo.Animal.legs",
      "zoo.Animal.body",
      "zoo.Animal.Mood",
      "zoo.Animal.CALM",
      "zoo.Animal.Den",
      "zoo.Animal.inner",
      "zoo.Size",
      "zoo.SMALL",
      "zoo.outer",
    ];
    const requests = symbols.map((value): Request => ({ case: "fileContainingSymbol", value }));
    const { answers } = await ask(version, ...requests);
    expect(answers.map((answer) => files(answer)[0]?.name)).toEqual(symbols.map(() => "zoo/zoo.proto"));
    const own = await ask(version, {
      case: "fileContainingSymbol",
      value: `grpc.reflection.${version}.ServerReflection`,
    });
    expect(files(own.answers[0])[0]?.name).toBe(`grpc/reflection/${version}/reflection.proto`);
  });

  it("finds extensions by number and lists them", async () => {
    const { answers } = await ask(
      version,
      { case: "fileContainingExtension", value: { containingType: "zoo.Base", extensionNumber: 101 } },
      { case: "allExtensionNumbersOfType", value: "zoo.Base" },
      { case: "allExtensionNumbersOfType", value: "zoo.Animal" },
    );
    expect(files(answers[0])[0]?.name).toBe("zoo/zoo.proto");
    expect(answers.slice(1).map(({ messageResponse }) => messageResponse)).toMatchObject([
      { case: "allExtensionNumbersResponse", value: { baseTypeName: "zoo.Base", extensionNumber: [101, 150] } },
      { case: "allExtensionNumbersResponse", value: { baseTypeName: "zoo.Animal", extensionNumber: [] } },
    ]);
  });

  it("answers NOT_FOUND for what it does not know, and goes on", async () => {
    const { answers, code } = await ask(
      version,
      { case: "fileByFilename", value: "none.proto" },
      { case: "fileContainingSymbol", value: "zoo.None" },
      { case: "fileContainingExtension", value: { containingType: "zoo.Base", extensionNumber: 199 } },
      { case: "allExtensionNumbersOfType", value: "zoo.None" },
      { case: "fileByFilename", value: "zoo/base.proto" },
    );
    expect(answers.slice(0, 4).map(({ messageResponse }) => messageResponse)).toMatchObject(
      Array.from({ length: 4 }, () => ({ case: "errorResponse", value: { errorCode: StatusCode.NOT_FOUND } })),
    );
    expect(files(answers[4])).toHaveLength(1);
    expect(code).toBe(StatusCode.OK);
  });

  it("refuses a request that asks for nothing", async () => {
    expect(await ask(version, { case: undefined })).toMatchObject({ answers: [], code: StatusCode.INVALID_ARGUMENT });
  });

  it("loads the files once", async () => {
    await ask(version, { case: "listServices", value: "" });
    await ask(version, { case: "listServices", value: "" });
    expect(loads).toBe(1);
  });
});
