import { createSocket } from "node:dgram";
import { once } from "node:events";
import { expect, it } from "vitest";
import { type DnsRecord, decodeMessage, encodeMessage } from "../dns-message.ts";
import { lookupServices } from "./dns-lookup.ts";

it("the hosts of a large service are looked up a few at a time", async () => {
  const hosts = Array.from({ length: 200 }, (_, index) => `h${index}.test`);
  const server = createSocket("udp4");
  let most = 0;
  server.on("message", (query, { port, address }) => {
    const sockets = process.getActiveResourcesInfo().filter((name) => name === "UDPWrap").length;
    most = Math.max(most, sockets);
    const { id = 0, questions = [] } = decodeMessage(query) ?? {};
    const [{ name, type } = { name: "", type: "A" }] = questions;
    const index = hosts.indexOf(name);
    const answers: DnsRecord[] =
      type === "SRV"
        ? hosts.map((target) => ({ type, name, ttl: 60, data: { target, port: 9000 } }))
        : type === "A"
          ? [{ type, name, ttl: 20, data: `10.0.0.${index}` }]
          : [];
    server.send(encodeMessage({ kind: "response", id, questions, answers }), port, address);
  });
  server.bind(0, "127.0.0.1");
  await once(server, "listening");
  const settings = { servers: [{ host: "127.0.0.1", port: server.address().port }], search: [], ndots: 0 };
  const { addresses, ttl } = await lookupServices("_wool._tcp.workers.test", settings, 20_000);
  server.close();
  expect(addresses).toEqual(hosts.map((_, index) => `10.0.0.${index}:9000`));
  expect(ttl).toBe(20);
  expect(most).toBeGreaterThan(2);
  expect(most).toBeLessThan(100);
});
