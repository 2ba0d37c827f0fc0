/** `HOST:PORT` as a place to connect to; undefined if it is none. */
export function addressOf(text: string): { host: string; port: number } | undefined {
  const found = /^(?:\[([0-9a-fA-F:]+)\]|([^:[\]\s/]+)):(\d{1,5})$/.exec(text.trim());
  const host = found?.[1] ?? found?.[2];
  const port = Number(found?.[3]);
  return host !== undefined && port > 0 && port < 65536 ? { host, port } : undefined;
}
