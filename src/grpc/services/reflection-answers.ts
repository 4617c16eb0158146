import { create, type DescFile, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { file_grpc_health_v1_health } from "../../gen/grpc/health/v1/health_pb.ts";
import {
  file_grpc_reflection_v1_reflection,
  type ServerReflectionRequest,
  ServerReflectionRequestSchema,
  ServerReflectionResponseSchema,
} from "../../gen/grpc/reflection/v1/reflection_pb.ts";
import { file_grpc_reflection_v1alpha_reflection } from "../../gen/grpc/reflection/v1alpha/reflection_pb.ts";
import { GrpcStatusError, StatusCode } from "../protocol/index.ts";
import { DescriptorIndex } from "./descriptor-index.ts";

type Answer = Exclude<MessageInitShape<typeof ServerReflectionResponseSchema>["messageResponse"], undefined>;

/** Makes the function that answers encoded reflection requests about the given files. */
export function createReflectionAnswers(files: readonly DescFile[]): (request: Uint8Array) => Uint8Array {
  const index = new DescriptorIndex([
    ...files,
    file_grpc_health_v1_health,
    file_grpc_reflection_v1_reflection,
    file_grpc_reflection_v1alpha_reflection,
  ]);
  return (bytes) => {
    const request = fromBinary(ServerReflectionRequestSchema, bytes);
    const response = create(ServerReflectionResponseSchema, {
      validHost: request.host,
      originalRequest: request,
      messageResponse: answer(index, request.messageRequest),
    });
    return toBinary(ServerReflectionResponseSchema, response);
  };
}

function answer(index: DescriptorIndex, request: ServerReflectionRequest["messageRequest"]): Answer {
  switch (request.case) {
    case "fileByFilename":
      return describe(index.fileNamed(request.value), `file "${request.value}"`);
    case "fileContainingSymbol":
      return describe(index.fileWithSymbol(request.value), `symbol "${request.value}"`);
    case "fileContainingExtension": {
      const { containingType, extensionNumber } = request.value;
      const file = index.extensionsOf(containingType)?.get(extensionNumber);
      return describe(file, `extension ${extensionNumber} of "${containingType}"`);
    }
    case "allExtensionNumbersOfType": {
      const extensions = index.extensionsOf(request.value);
      if (extensions === undefined) return notFound(`message "${request.value}"`);
      const extensionNumber = [...extensions.keys()].toSorted((a, b) => a - b);
      return { case: "allExtensionNumbersResponse", value: { baseTypeName: request.value, extensionNumber } };
    }
    case "listServices":
      return { case: "listServicesResponse", value: { service: index.services.map((name) => ({ name })) } };
    default:
      throw new GrpcStatusError(StatusCode.INVALID_ARGUMENT, "the reflection request is empty or of an unknown kind");
  }
}

function describe(file: DescFile | undefined, what: string): Answer {
  if (file === undefined) return notFound(what);
  const files = new Set([file]);
  // Iterating a set also visits the items that are added meanwhile: the file first, then all of its dependencies.
  for (const needed of files) for (const dependency of needed.dependencies) files.add(dependency);
  const fileDescriptorProto = [...files].map(({ proto }) => toBinary(FileDescriptorProtoSchema, proto));
  return { case: "fileDescriptorResponse", value: { fileDescriptorProto } };
}

function notFound(what: string): Answer {
  return {
    case: "errorResponse",
    value: { errorCode: StatusCode.NOT_FOUND, errorMessage: `this server does not describe ${what}` },
  };
}
