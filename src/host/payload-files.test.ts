import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { OpenPayload } from "../wire/index.ts";
import { PayloadFiles } from "./payload-files.ts";
import { PoolDirectory } from "./pool-directory.ts";

let pool: PoolDirectory;
let directory: string;
let files: PayloadFiles;

const MEGABYTE = 1024 * 1024;
const bytes = (length: number, value: number) => new Uint8Array(length).fill(value);

function store(through: PayloadFiles, payload: Uint8Array): string {
  const path = through.put(payload);
  if (path === undefined) throw new Error("there was no room");
  return path;
}

function takeWith<T>(through: PayloadFiles, path: string, length: number, read: (source: OpenPayload) => T): T {
  const open = through.open(path, length);
  try {
    return read(open);
  } finally {
    open.close(true);
  }
}

/** All bytes of a payload. */
function take(through: PayloadFiles, path: string, length: number): Buffer {
  return takeWith(through, path, length, (source) => {
    const whole = Buffer.allocUnsafeSlow(source.length);
    source.read(whole, 0);
    return whole;
  });
}

/** The files of the directory, without the mark of its owner. */
const stored = () => readdirSync(directory).filter((name) => name !== "owner.json");

describe.skipIf(new PayloadFiles().realm === "")("payload files", () => {
  beforeEach(() => {
    pool = new PoolDirectory();
    directory = pool.bulkDirectory();
    files = new PayloadFiles();
    files.useDirectory(directory);
  });
  afterEach(async () => {
    await pool.dispose();
  });

  it("carry a payload from one process to another, for this user only", () => {
    const path = store(files, bytes(1000, 7));
    expect(dirname(path)).toBe(directory);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const peer = new PayloadFiles();
    const payload = take(peer, path, 1000);
    expect(payload.equals(bytes(1000, 7))).toBe(true);
    expect(payload.buffer.byteLength).toBe(1000);
  });

  it.each([[Number.POSITIVE_INFINITY], [0], [3], [1000], [1500], [2500]])(
    "hold the parts of a payload one after the other, also when only %d bytes are written at once",
    async (most) => {
      vi.doMock(import("node:fs"), async (original) => {
        const fs = await original();
        const writevSync: typeof fs.writevSync = (descriptor, parts, at) =>
          most >= 3000
            ? fs.writevSync(descriptor, parts, at)
            : fs.writeSync(descriptor, Buffer.concat(parts as Uint8Array[]).subarray(0, most), 0, most, at);
        return { ...fs, writevSync };
      });
      try {
        vi.resetModules();
        const mocked = await import("./payload-files.ts");
        const partial = new mocked.PayloadFiles();
        partial.useDirectory(directory);
        const { PayloadParts } = await import("../values/index.ts");
        const parts = [bytes(1000, 1), bytes(0, 0), bytes(1500, 2), bytes(500, 3)];
        const path = partial.put(new PayloadParts(parts)) ?? "";
        expect(readFileSync(path).equals(Buffer.concat(parts))).toBe(true);
      } finally {
        vi.doUnmock("node:fs");
      }
    },
  );

  it("circulate: whoever has read one writes the next payload into it", () => {
    const peer = new PayloadFiles();
    peer.useDirectory(directory);
    const path = store(files, bytes(1000, 1));
    take(peer, path, 1000);
    expect(store(peer, bytes(500, 2))).toBe(path);
    expect(take(files, path, 500).equals(bytes(500, 2))).toBe(true);
    expect(store(files, bytes(2000, 3))).toBe(path);
    expect(take(peer, path, 2000).equals(bytes(2000, 3))).toBe(true);
    expect(stored()).toEqual([basename(path)]);
  });

  it("no payload is ever in a file that holds another, in whatever order they come and go", () => {
    const peer = new PayloadFiles();
    peer.useDirectory(directory);
    const action = fc.record({
      send: fc.boolean(),
      drop: fc.boolean(),
      back: fc.boolean(),
      length: fc.integer({ min: 1, max: 3000 }),
    });
    let value = 0;
    fc.assert(
      fc.property(fc.array(action, { maxLength: 60 }), (actions) => {
        const underWay = new Map<string, { length: number; value: number; to: PayloadFiles }>();
        const receive = (path: string, drop: boolean) => {
          const sent = underWay.get(path);
          if (sent === undefined) return;
          underWay.delete(path);
          if (drop) sent.to.drop(path, sent.length);
          else expect(take(sent.to, path, sent.length).equals(bytes(sent.length, sent.value))).toBe(true);
        };
        for (const { send, drop, back, length } of actions) {
          if (send) {
            value = (value + 1) % 256;
            const path = store(back ? peer : files, bytes(length, value));
            expect(underWay.has(path)).toBe(false);
            underWay.set(path, { length, value, to: back ? files : peer });
          } else {
            const [path] = underWay.keys();
            if (path !== undefined) receive(path, drop);
          }
        }
        for (const path of underWay.keys()) receive(path, false);
      }),
      { numRuns: 40 },
    );
  });

  it("that wait for their next use are bounded, in number and in bytes", () => {
    const many = Array.from({ length: 40 }, () => store(files, bytes(10, 1)));
    for (const path of many) take(files, path, 10);
    expect(stored().length).toBe(16);
    const large = Array.from({ length: 3 }, () => store(files, bytes(30 * 1024 * 1024, 1)));
    for (const path of large) take(files, path, 30 * 1024 * 1024);
    const kept = stored().reduce((total, name) => total + statSync(join(directory, name)).size, 0);
    expect(kept).toBeLessThanOrEqual(64 * 1024 * 1024);
  });

  it("the smallest that is large enough is used again first", () => {
    const sizes = [5000, 1000, 3000];
    const paths = sizes.map((size) => store(files, bytes(size, 1)));
    for (const [i, path] of paths.entries()) take(files, path, sizes[i] ?? 0);
    expect(store(files, bytes(2000, 2))).toBe(paths[2]);
    expect(store(files, bytes(2000, 2))).toBe(paths[0]);
    expect(store(files, bytes(2000, 2))).toBe(paths[1]);
  });

  it("outside of their place are refused, and left alone", () => {
    const place = dirname(directory);
    const secret = join(pool.path, "secret");
    writeFileSync(secret, "secret");
    const paths = [
      secret,
      "/etc/hostname",
      "relative/path",
      "",
      join(place, "no-directory"),
      `${place}/../x`,
      `${place}/../../etc/hostname`,
      `${directory}/..`,
      `${place}/../${basename(place)}/${basename(directory)}/x`,
      `${place}/a/b/c`,
      join(directory, "owner.json"),
      join(directory, "abcdefghi"),
      `${directory}//abcdefghij`,
    ];
    for (const path of paths) {
      expect(() => take(files, path, 1)).toThrow("is not a payload file of this user");
      expect(() => files.drop(path, 1)).toThrow("is not a payload file of this user");
    }
    store(files, bytes(10, 1));
    expect(readFileSync(secret, "utf8")).toBe("secret");
  });

  it("that are links are not followed, to read or to write", () => {
    const target = join(pool.path, "target");
    writeFileSync(target, "target");
    const link = join(directory, "linklinkli");
    symlinkSync(target, link);
    expect(() => take(files, link, 6)).toThrow(/ELOOP/);
    files.drop(link, 6);
    const path = store(files, bytes(6, 1));
    expect(path).not.toBe(link);
    expect(readFileSync(target, "utf8")).toBe("target");
  });

  it("that are shorter than was said are refused, and nothing keeps them open", () => {
    const path = store(files, bytes(10, 1));
    const open = () => readdirSync("/proc/self/fd").length;
    const before = open();
    expect(() => take(files, path, 11)).toThrow(`the file ${path} has 10 bytes, not 11`);
    expect(() => take(files, join(directory, "missingone"), 1)).toThrow(/ENOENT/);
    expect(open()).toBe(before);
  });

  it("whose directory is gone are given up: the payload goes another way", () => {
    const paths = [store(files, bytes(10, 1)), store(files, bytes(10, 1))];
    for (const path of paths) take(files, path, 10);
    rmSync(directory, { recursive: true });
    expect(files.put(bytes(10, 1))).toBeUndefined();
    mkdirSync(directory, { mode: 0o700 });
    expect(existsSync(store(files, bytes(10, 1)))).toBe(true);
  });

  it("one that somebody removed is passed over", () => {
    const path = store(files, bytes(10, 1));
    take(files, path, 10);
    rmSync(path);
    const next = store(files, bytes(10, 2));
    expect(next).not.toBe(path);
    expect(take(files, next, 10).equals(bytes(10, 2))).toBe(true);
  });

  it("can be read in parts, where they are needed", () => {
    const path = store(
      files,
      Uint8Array.from({ length: 1000 }, (_, i) => i & 255),
    );
    const [length, part] = takeWith(files, path, 900, (file) => {
      const target = new Uint8Array(20);
      file.read(target.subarray(5, 15), 300);
      return [file.length, target];
    });
    expect(length).toBe(900);
    expect([...part]).toEqual([0, 0, 0, 0, 0, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 0, 0, 0, 0, 0]);
    expect(store(files, bytes(10, 1))).toBe(path);
  });

  it("that are shorter than what is read of them say so", () => {
    const path = store(files, bytes(1000, 1));
    const read = () => takeWith(files, path, 1000, (file) => file.read(new Uint8Array(101), 900));
    expect(read).toThrow(`the file ${path} ends before byte 1001`);
  });

  it("read within each other do not mix, and one whose use has failed is ours all the same", () => {
    const paths = [1, 2, 3].map((value) => store(files, bytes(1000, value)));
    const [first, second, third] = paths;
    if (first === undefined || second === undefined || third === undefined) throw new Error("no files");
    const sums = takeWith(files, first, 1000, (outer) => {
      const inner = take(files, second, 1000);
      const thrower = () => {
        throw new RangeError("x");
      };
      expect(() => takeWith(files, third, 1000, thrower)).toThrow(RangeError);
      const target = new Uint8Array(1000);
      outer.read(target, 0);
      return [inner[500], target[500]];
    });
    expect(sums).toEqual([2, 1]);
    expect(() => files.open(join(directory, "missingone"), 1)).toThrow(/ENOENT/);
    for (let i = 0; i < 3; i++) expect(paths).toContain(store(files, bytes(1000, 4)));
  });

  it("are checked before they are read: place, existence and length", () => {
    const path = store(files, bytes(10, 1));
    files.check(path, 10);
    expect(() => files.check(path, 11)).toThrow(`the file ${path} has 10 bytes, not 11`);
    expect(() => files.check("/etc/hostname", 1)).toThrow("is not a payload file of this user");
    expect(() => files.check(join(directory, "missingone"), 1)).toThrow(/ENOENT/);
    expect(store(files, bytes(10, 2))).not.toBe(path);
  });

  it("that are too large to be kept shrink while they are read, and go then", () => {
    const length = 65 * 1024 * 1024;
    const path = store(files, bytes(length, 9));
    const open = files.open(path, length);
    const target = new Uint8Array(1024);
    open.read(target, length - 1024);
    expect(target.every((byte) => byte === 9)).toBe(true);
    open.shrink(length - 1024);
    expect(statSync(path).size).toBe(length - 1024);
    open.close(true);
    expect(stored()).toEqual([]);
  });

  it("that are kept do not shrink", () => {
    const path = store(files, bytes(1000, 1));
    const open = files.open(path, 1000);
    open.shrink(500);
    open.close(true);
    expect(store(files, bytes(1000, 2))).toBe(path);
    expect(statSync(path).size).toBe(1000);
  });

  it("whose reader leaves them to their owner are used again by nobody", () => {
    const path = store(files, bytes(1000, 1));
    files.open(path, 1000).close(false);
    expect(store(files, bytes(1000, 2))).not.toBe(path);
    expect(readFileSync(path).equals(bytes(1000, 1))).toBe(true);
  });

  it.each([
    ["file system", { free: 9 * MEGABYTE, memory: Number.POSITIVE_INFINITY }, 5 * MEGABYTE],
    ["memory", { free: Number.POSITIVE_INFINITY, memory: 9 * MEGABYTE }, 5 * MEGABYTE],
  ])(
    "take at most half of the room that the %s has, and what does not fit goes another way",
    async (_name, room, length) => {
      vi.doMock(import("node:fs"), async (original) => {
        const fs = await original();
        const statfsSync = (() => ({ bavail: room.free / 4096, bsize: 4096 })) as unknown as typeof fs.statfsSync;
        return { ...fs, statfsSync };
      });
      const memory = vi.spyOn(process, "availableMemory").mockReturnValue(room.memory);
      try {
        vi.resetModules();
        const { PayloadFiles: Bounded } = await import("./payload-files.ts");
        const bounded = new Bounded();
        bounded.useDirectory(directory);
        expect(bounded.put(bytes(length, 1))).toBeUndefined();
        expect(stored()).toEqual([]);
        const path = bounded.put(bytes(length - MEGABYTE, 1)) ?? "";
        bounded.open(path, length - MEGABYTE).close(true);
        // It grows by 1 MB, which still fits.
        expect(bounded.put(bytes(length, 2))).toBe(path);
      } finally {
        memory.mockRestore();
        vi.doUnmock("node:fs");
      }
    },
  );

  it("may be empty", () => {
    const path = store(files, bytes(0, 0));
    expect(take(files, path, 0)).toHaveLength(0);
  });
});

describe("the realm of payload files", () => {
  it("is the same for every process of this user on this machine", () => {
    expect(new PayloadFiles().realm).toBe(new PayloadFiles().realm);
  });
});
