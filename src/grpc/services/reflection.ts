import type { DescFile } from "@bufbuild/protobuf";
import { frameMessage, SMALL_REQUEST_BYTES, statusFromError } from "../protocol/index.ts";
import type { GrpcServer, ServerStream } from "../server/index.ts";

/**
 * Serves `grpc.reflection.v1.ServerReflection` and its `v1alpha` on a server. `loadFiles` gives the files whose services the server
 * has; it is called by the first request, which also loads the protobuf code. The reflection and health services are
 * described too.
 */
export function addReflection(server: GrpcServer, loadFiles: () => Promise<readonly DescFile[]>): void {
  let answering: Promise<(request: Uint8Array) => Uint8Array> | undefined;
  const load = async (): Promise<(request: Uint8Array) => Uint8Array> => {
    const [{ createReflectionAnswers }, files] = await Promise.all([import("./reflection-answers.ts"), loadFiles()]);
    return createReflectionAnswers(files);
  };
  const accept = async (stream: ServerStream): Promise<void> => {
    try {
      answering ??= load();
      const answer = await answering;
      stream.limitMessages(SMALL_REQUEST_BYTES);
      stream.handle({
        message: (buffer, start, end) => {
          // An answer is a hundred times as long as its request, so the server reads no more from a client that does
          // not read.
          if (!stream.send(frameMessage(answer(buffer.subarray(start, end))))) stream.pause();
        },
        drain: () => stream.resume(),
        halfClosed: () => stream.end(),
      });
    } catch (error) {
      answering = undefined;
      stream.end(statusFromError(error));
    }
  };
  // The two versions differ in the package's name only.
  for (const version of ["v1", "v1alpha"]) {
    server.addStream(
      `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`,
      (stream) => void accept(stream),
    );
  }
}
