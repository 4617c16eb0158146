import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import {
  HealthCheckRequestSchema,
  HealthCheckResponse_ServingStatus,
  HealthCheckResponseSchema,
} from "../../gen/grpc/health/v1/health_pb.ts";
import type { ServingStatus } from "./health.ts";

const NUMBERS = {
  unknown: HealthCheckResponse_ServingStatus.UNKNOWN,
  serving: HealthCheckResponse_ServingStatus.SERVING,
  "not-serving": HealthCheckResponse_ServingStatus.NOT_SERVING,
  "service-unknown": HealthCheckResponse_ServingStatus.SERVICE_UNKNOWN,
};

/** The service that a `HealthCheckRequest` asks about. */
export function decodeHealthRequest(bytes: Uint8Array): string {
  return fromBinary(HealthCheckRequestSchema, bytes).service;
}

/** An encoded `HealthCheckResponse`. */
export function encodeHealthResponse(status: ServingStatus | "service-unknown"): Uint8Array {
  return toBinary(HealthCheckResponseSchema, create(HealthCheckResponseSchema, { status: NUMBERS[status] }));
}
