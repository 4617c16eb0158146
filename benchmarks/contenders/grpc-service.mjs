const sameBytes = (bytes) => bytes;

const method = (name, responseStream = false) => ({
  path: `/benchmark.Service/${name}`,
  requestStream: false,
  responseStream,
  requestSerialize: sameBytes,
  requestDeserialize: sameBytes,
  responseSerialize: sameBytes,
  responseDeserialize: sameBytes,
});

/** What the servers of the gRPC contender offer: JSON in a `Buffer`, or plain bytes. */
export const service = {
  add: method("Add"),
  echo: method("Echo"),
  echoBytes: method("EchoBytes"),
  burn: method("Burn"),
  items: method("Items", true),
};

/** gRPC's own limit of 4 MB would refuse the larger payloads. */
export const UNLIMITED = { "grpc.max_receive_message_length": -1, "grpc.max_send_message_length": -1 };

export const pack = (value) => Buffer.from(JSON.stringify(value));
export const unpack = (bytes) => JSON.parse(bytes.toString());
