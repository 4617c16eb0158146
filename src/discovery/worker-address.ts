/** Why `address` is not a worker's address (`host:port`, `[ipv6]:port` or `unix:path`); undefined if it is one. */
export function addressProblem(address: string): string | undefined {
  if (address.startsWith("unix:")) {
    return address.length > "unix:".length ? undefined : "names no socket after unix:";
  }
  const [, host, port] = /^(\[[\da-fA-F:.]+(?:%[\w.-]+)?\]|[^\s:/[\]]+):(\d{1,5})$/.exec(address) ?? [];
  if (host === undefined || port === undefined) return 'is neither "host:port", "[ipv6]:port" nor "unix:path"';
  if (Number(port) < 1 || Number(port) > 65_535) return `has the port ${port}, which is not within 1 to 65535`;
  return undefined;
}
