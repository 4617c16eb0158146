import { parseArgs } from "node:util";
import { isError, nearestName } from "../checks/index.ts";
import { checkDiscoveryUrl, discoveryUrlForms, resolveDiscovery } from "../discovery/index.ts";
import { InvalidArgument } from "../errors.ts";
import { WorkerCredentialsProvider } from "../security/index.ts";
import { UsageError } from "./command.ts";

const DURATION = /^(?:\d+(?:\.\d+)?(?:e\d+)?|Infinity)$/;

type OptionTable = Readonly<Record<string, { readonly type: "string" | "boolean"; readonly multiple?: boolean }>>;

/** Options of every command that looks for workers. */
export const DISCOVERY_OPTIONS = {
  discovery: { type: "string" },
  ca: { type: "string" },
  cert: { type: "string" },
  key: { type: "string" },
  identity: { type: "string" },
} as const;

/** The help text for these options. */
export const DISCOVERY_HELP = `  --discovery URL  where workers are announced and found (local:default):
                   ${wrapForms()}
  --ca FILE, --cert FILE, --key FILE
                   TLS: the authority, and the certificate and its key (wool certs)
  --identity NAME  the name that the certificates of workers carry, if not their
                   host`;

/** The parsed command line. */
export interface Arguments {
  readonly positionals: readonly string[];
  has(name: string): boolean;
  /** The value of an option, if it was given. */
  text(name: string): string | undefined;
  /** All values of an option that may be given more than once. */
  all(name: string): readonly string[];
  /** The same, where commas also separate values. */
  list(name: string): readonly string[];
  /** The value of an option as an integer within a range. */
  whole(name: string, least: number, most?: number): number | undefined;
  /** The value of an option as milliseconds: any number that is not negative, and `Infinity`. */
  duration(name: string): number | undefined;
}

/**
 * Parses arguments. Throws `UsageError` for an unknown option, with the one that was probably meant, and for an option
 * that is given twice but takes one value.
 */
export function readArguments(args: readonly string[], options: OptionTable, usage: string): Arguments {
  const { values, positionals, tokens } = parse(args, options, usage);
  const given = new Set<string>();
  for (const token of tokens) {
    if (token.kind !== "option" || options[token.name]?.type !== "string") continue;
    if (options[token.name]?.multiple === true) continue;
    if (given.has(token.name)) throw new UsageError(`--${token.name} is given more than once, and takes one value`);
    given.add(token.name);
  }
  const valuesOf = (name: string): string[] => [values[name] ?? []].flat().filter((value) => typeof value === "string");
  return {
    positionals,
    has: (name) => values[name] === true || valuesOf(name).length > 0,
    text: (name) => valuesOf(name).at(-1),
    all: valuesOf,
    list(name) {
      const parts = valuesOf(name).flatMap((value) => value.split(","));
      if (parts.includes("")) throw new UsageError(`--${name} must not be empty`);
      return parts;
    },
    whole(name, least, most = Number.MAX_SAFE_INTEGER) {
      const value = valuesOf(name).at(-1);
      if (value === undefined) return undefined;
      const number = Number(value);
      if (/^-?\d+$/.test(value) && number >= least && number <= most) return number;
      const range = most === Number.MAX_SAFE_INTEGER ? `, ${least} or more` : ` from ${least} to ${most}`;
      throw new UsageError(`--${name} must be a whole number${range}, not "${value}"`);
    },
    duration(name) {
      const value = valuesOf(name).at(-1);
      if (value === undefined || DURATION.test(value)) return value === undefined ? undefined : Number(value);
      throw new UsageError(`--${name} must be a number of milliseconds, 0 or more, or Infinity, not "${value}"`);
    },
  };
}

/** For a command that takes options only: throws `UsageError` for any other argument. */
export function refusePositionals({ positionals: [other] }: Arguments, command: string, usage: string): void {
  if (other !== undefined) throw new UsageError(`wool ${command} takes options only, not ${other}. ${usage}`);
}

/** The discovery that a command was told to use. Throws `UsageError` when it is not a valid discovery URL. */
export function discoveryOf(given: Arguments): string {
  const url = given.text("discovery") ?? "local:default";
  try {
    checkDiscoveryUrl(url);
  } catch (error) {
    throw ofDiscovery(error);
  }
  return url;
}

/** Opens a discovery URL. Throws `UsageError` for errors that show only then. */
export async function discoveryAt(url: string, credentials: WorkerCredentialsProvider | undefined) {
  try {
    return await resolveDiscovery(url, { credentials });
  } catch (error) {
    throw ofDiscovery(error);
  }
}

function ofDiscovery(error: unknown): unknown {
  return error instanceof InvalidArgument ? new UsageError(`--discovery: ${error.message}`) : error;
}

/** The credentials that a command was given. Throws `UsageError` for parts that do not go together. */
export function credentialsOf(given: Arguments): WorkerCredentialsProvider | undefined {
  const [ca, cert, key, identity] = [given.text("ca"), given.text("cert"), given.text("key"), given.text("identity")];
  if (ca === undefined) {
    const other = ["cert", "key", "identity"].find((name) => given.has(name));
    if (other !== undefined) throw new UsageError(`--${other} needs --ca, the certificate of the authority`);
    return undefined;
  }
  if ((cert === undefined) !== (key === undefined)) {
    throw new UsageError(cert === undefined ? "--key needs --cert" : "--cert needs --key");
  }
  const files = cert === undefined || key === undefined ? { ca, mutual: false } : { ca, cert, key };
  return WorkerCredentialsProvider.fromFiles(files, identity === undefined ? {} : { identity });
}

function parse(args: readonly string[], options: OptionTable, usage: string) {
  try {
    const joined = joinNegative(args, options);
    return parseArgs({ args: joined, allowPositionals: true, options: { ...options }, tokens: true });
  } catch (error) {
    const message = isError(error) ? error.message.split("\n")[0] : String(error);
    const unknown = /Unknown option '--([^']+)'/.exec(message ?? "")?.[1];
    const near = unknown === undefined ? undefined : nearestName(unknown, Object.keys(options));
    if (unknown === undefined) throw new UsageError(`${message}\n${usage}`);
    throw new UsageError(
      `there is no option --${unknown}${near === undefined ? "" : `; did you mean --${near}?`}\n${usage}`,
    );
  }
}

/** Joins `--port -1` to `--port=-1`, so that it counts as a wrong number and not as another option. */
function joinNegative(args: readonly string[], options: OptionTable): string[] {
  const joined: string[] = [];
  for (const arg of args) {
    const last = joined.at(-1) ?? "";
    if (/^-\d/.test(arg) && options[last.slice(2)]?.type === "string") joined[joined.length - 1] = `${last}=${arg}`;
    else joined.push(arg);
  }
  return joined;
}

/** The forms of discovery URLs, a few on each line. */
function wrapForms(): string {
  const forms = discoveryUrlForms();
  const lines: string[] = [];
  for (let i = 0; i < forms.length; i += 2) lines.push(forms.slice(i, i + 2).join(", "));
  return lines.join(",\n                   ");
}
