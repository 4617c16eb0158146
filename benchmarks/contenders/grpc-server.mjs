import { Server, ServerCredentials } from "@grpc/grpc-js";
import { burn } from "./burn.mjs";
import { pack, service, UNLIMITED, unpack } from "./grpc-service.mjs";

const server = new Server(UNLIMITED);

server.addService(service, {
  add(call, reply) {
    const [x, y] = unpack(call.request);
    reply(null, pack(x + y));
  },
  echo(call, reply) {
    reply(null, pack(unpack(call.request)));
  },
  echoBytes(call, reply) {
    reply(null, call.request);
  },
  burn(call, reply) {
    const [steps, seed] = unpack(call.request);
    reply(null, pack(burn(steps, seed)));
  },
  items(call) {
    let next = 0;
    let open = true;
    const write = () => {
      while (open && call.write(pack(next++)));
    };
    call.on("drain", write);
    call.on("cancelled", () => {
      open = false;
    });
    write();
  },
});

process.once("disconnect", () => process.exit());
server.bindAsync(process.argv[2], ServerCredentials.createInsecure(), (error) => {
  if (error) throw error;
  process.send("ready");
});
