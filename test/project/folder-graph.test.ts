import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const src = fileURLToPath(new URL("../../src", import.meta.url));

/** From the top down: a folder may use those below it. */
const ORDER = [
  "cli",
  "pool",
  "worker",
  "proxy",
  "connection",
  "call",
  "context",
  "routine",
  "balancing",
  "telemetry",
  "discovery",
  "host",
  "security",
  "wire",
  "grpc",
  "sharing",
  "values",
  "functions",
  "checks",
  "time",
  "gen",
];

/** The rooms of a folder, from the top down. Types may be imported upwards inside one folder. */
const ROOMS: Readonly<Record<string, readonly string[]>> = {
  functions: ["explain", "revive", "capture", "variables", "emit", "modules", "engine", "syntax", "shipment"],
  values: ["graph", "refusals", "slots", "bytes"],
  grpc: ["services", "server", "client", "protocol"],
  security: ["certificates"],
  discovery: ["redis", "etcd", "registry", "dns", "lan", "local"],
  proxy: ["calls", "scheduling", "members"],
  worker: ["service", "thread", "host", "shared"],
  "worker/thread": ["outcomes", "routines", "turns"],
};

interface Import {
  readonly file: string;
  readonly target: string;
  readonly isType: boolean;
}

function sources(): string[] {
  return readdirSync(src, { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".ts") && !path.endsWith(".test.ts") && !path.includes("fixtures"))
    .map((path) => join(src, path));
}

/** The folder of a file, its room there, and so on. */
function placeOf(path: string): readonly string[] {
  const place = relative(src, dirname(path));
  return place === "" ? [] : place.split("/");
}

/** How two files are apart: the folder that holds both, and what leads from there to each. */
function between({ file, target }: Import): { both: string; from: readonly string[]; to: readonly string[] } {
  const [from, to] = [placeOf(file), placeOf(target)];
  const fork = from.findIndex((name, depth) => name !== to[depth]);
  const shared = fork === -1 ? from.length : fork;
  return { both: from.slice(0, shared).join("/"), from: from.slice(shared), to: to.slice(shared) };
}

const IMPORT =
  /(?:^|\n)(?:import|export)(?<type> type)?\s*(?<names>\{[^}]*\}|\*\s+as\s+\w+|\*)?\s*(?:from\s*)?"(?<static>\.[^"]+)"|import\(\s*"(?<dynamic>\.[^"]+)"/g;

function importsOf(file: string): Import[] {
  return [...readFileSync(file, "utf8").matchAll(IMPORT)].map(({ groups = {} }) => {
    const target = join(dirname(file), groups["static"] ?? groups["dynamic"] ?? "");
    const names = groups["names"]?.replace(/[{}]/g, "").split(",") ?? [];
    const isType =
      groups["type"] !== undefined ||
      (names.length > 0 && names.every((name) => name.trim() === "" || name.trim().startsWith("type ")));
    return { file, target, isType };
  });
}

const show = ({ file, target }: Import) => `${relative(src, file)} -> ${relative(src, target)}`;
const imports = sources().flatMap(importsOf);

it("points one way: no folder uses one above it", () => {
  const across = imports
    .map((each) => ({ each, ...between(each) }))
    .filter(({ both, from, to }) => {
      return both === "" && from.length > 0 && to.length > 0;
    });
  expect(across.length).toBeGreaterThan(100);
  const upwards = across.filter(({ from, to }) => ORDER.indexOf(from[0] ?? "") >= ORDER.indexOf(to[0] ?? ""));
  expect(upwards.map(({ each }) => show(each))).toEqual([]);
});

it("points one way inside of a folder: no room uses one above it", () => {
  const across = imports
    .map((each) => ({ each, ...between(each) }))
    .filter(({ each, both, from, to }) => {
      return !each.isType && both !== "" && from.length > 0 && to.length > 0;
    });
  expect(across.length).toBeGreaterThan(20);
  const upwards = across.filter(({ both, from, to }) => {
    const rooms = ROOMS[both] ?? [];
    return rooms.indexOf(from[0] ?? "") >= rooms.indexOf(to[0] ?? "");
  });
  expect(upwards.map(({ each }) => show(each))).toEqual([]);
});

it("enters a folder and a room through its index.ts", () => {
  const aside = imports.filter((each) => {
    const { both, from, to } = between(each);
    // Generated messages have no index; the files beside index.ts belong to no folder.
    if (to[0] === "gen" || (both === "" && to.length === 0)) return false;
    // A room without an index is a program. The files that processes and threads start with load it, and no others.
    const isProgram = !existsSync(join(dirname(each.target), "index.ts"));
    const isEntrance = basename(each.target) === "index.ts" || (isProgram && each.file.endsWith("-main.ts"));
    // A room may use the files of the folder that it is in, but not the entrance to that.
    if (to.length === 0) return from.length > 0 && isEntrance;
    return to.length > 1 || !isEntrance;
  });
  expect(aside.map(show)).toEqual([]);
});

it("knows every folder and every room", () => {
  const places = sources().map(placeOf);
  const folders = new Set(places.flatMap(([folder]) => folder ?? []));
  expect([...folders].sort()).toEqual([...ORDER].sort());
  const rooms = new Set(
    places.filter((place) => place.length > 1 && place[0] !== "gen").map((place) => place.join("/")),
  );
  expect([...rooms].sort()).toEqual(
    Object.entries(ROOMS)
      .flatMap(([folder, names]) => names.map((name) => `${folder}/${name}`))
      .sort(),
  );
});

it("gives a folder with more than twenty files rooms", () => {
  const counts = new Map<string, number>();
  for (const place of sources().map((path) => placeOf(path).join("/"))) counts.set(place, (counts.get(place) ?? 0) + 1);
  expect([...counts].filter(([place, count]) => count > 20 && !place.startsWith("gen"))).toEqual([]);
});

it("has the files that ARCHITECTURE.md names", () => {
  const text = readFileSync(new URL("../../ARCHITECTURE.md", import.meta.url), "utf8");
  const named = Array.from(text.matchAll(/`([a-z]+\/[\w/-]+(?:\.ts|\/))`/g), ([, path = ""]) => path);
  expect(named.length).toBeGreaterThan(30);
  const roots = [src, dirname(src)];
  expect(named.filter((path) => !roots.some((root) => existsSync(join(root, path))))).toEqual([]);
});

it("has the classes and functions that ARCHITECTURE.md names", () => {
  const text = readFileSync(new URL("../../ARCHITECTURE.md", import.meta.url), "utf8");
  const code = sources()
    .map((path) => readFileSync(path, "utf8"))
    .join("\n");
  // `RoutineSpec`, `Call.unpack`: names of types and their members.
  const named = Array.from(text.matchAll(/`([A-Z][a-z]\w+)(?:\.(\w+))?`/g), ([, type = "", member = type]) => [
    type,
    member,
  ]);
  expect(named.length).toBeGreaterThan(20);
  const missing = named.filter((names) => names.some((name) => !new RegExp(`\\b${name}\\b`).test(code)));
  expect(missing).toEqual([]);
});

it("is the one that ARCHITECTURE.md describes", () => {
  const text = readFileSync(new URL("../../ARCHITECTURE.md", import.meta.url), "utf8");
  expect(ORDER.filter((folder) => !text.includes(`| \`${folder}/\``))).toEqual([]);
  const rooms = Object.values(ROOMS).flatMap((names) => names.map((name) => `\`${name}/\``));
  expect(rooms.filter((room) => !text.includes(room))).toEqual([]);
});
