import { existsSync, readdirSync, readFileSync, readlinkSync } from "node:fs";

/** What this process has open, a line for each descriptor. For sockets it names both ends. */
export function openDescriptors() {
  const sockets = readSockets();
  return readdirSync("/proc/self/fd").flatMap((descriptor) => {
    try {
      const target = readlinkSync(`/proc/self/fd/${descriptor}`);
      const inode = /^socket:\[(\d+)\]$/.exec(target)?.[1];
      return [`${descriptor} ${sockets.get(inode) ?? target}`];
    } catch {
      // The descriptor that the folder was read with.
      return [];
    }
  });
}

/** The sockets of this network namespace by inode. */
function readSockets() {
  const sockets = new Map();
  for (const [inode, local, remote, state] of rows("tcp", [9, 1, 2, 3])) {
    sockets.set(inode, `tcp ${readAddress(local)} to ${readAddress(remote)} in state ${state}`);
  }
  for (const [inode, path] of rows("unix", [6, 7])) sockets.set(inode, `unix ${path ?? "without a name"}`);
  return sockets;
}

function rows(protocol, columns) {
  const file = `/proc/self/net/${protocol}`;
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, "utf8").trim().split("\n").slice(1);
  return lines.map((line) => {
    const cells = line.trim().split(/\s+/);
    return columns.map((column) => cells[column]);
  });
}

/** `0100007F:1F90` is 127.0.0.1:8080: the bytes of the address are in reverse order. */
function readAddress(text) {
  const [address, port] = text.split(":");
  const bytes = address.match(/../g).map((byte) => Number.parseInt(byte, 16));
  return `${bytes.toReversed().join(".")}:${Number.parseInt(port, 16)}`;
}
