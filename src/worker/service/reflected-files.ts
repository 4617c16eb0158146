import { file_grpc_health_v1_health } from "../../gen/grpc/health/v1/health_pb.ts";
import { file_wool_v1_worker } from "../../gen/wool/v1/worker_pb.ts";

/**
 * The files that the reflection service of a worker describes. A separate module, so that it is loaded only when asked
 * for.
 */
export const REFLECTED_FILES = [file_wool_v1_worker, file_grpc_health_v1_health];
