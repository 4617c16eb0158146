import { parseArgs } from "node:util";
import { isError, nearestName } from "../checks/index.ts";
import { checkDiscoveryUrl, discoveryUrlForms } from "../discovery/index.ts";
import { InvalidArgument } from "../errors.ts";
import { WorkerCredentialsProvider } from "../security/index.ts";
import { UsageError } from "./command.ts";

type OptionTable = Readonly<Record<string, { readonly type: "string" | "boolean"; readonly multiple?: boolean }>>;

/** Options of every command that looks for workers. */
export const DISCOVERY_OPTIONS = {
  discovery: { type: "string" },
  ca: { type: "string" },
  cert: { type: "string" },
  key: { type: "string" },
  identity: { type: "string" },
} as const;

/** What the help of such a command says of them. */
export const DISCOVERY_HELP = `  --discovery URL  where workers are announced and found (local:default):
                   ${wrapForms()}
  --ca FILE, --cert FILE, --key FILE
                   TLS: the authority, and the certificate and its key (wool certs)
  --identity NAME  the name that the certificates of workers carry, if not their
                   host`;

/** The command line, taken apart. */
export interface Arguments {
  readonly positionals: readonly string[];
  has(name: string): boolean;
  /** The value of an option, if it was given. */
  text(name: string): string | undefined;
  /** All values of an option that may be given more than once. */
  all(name: string): readonly string[];
  /** The same where commas separate, too. */
  list(name: string): readonly string[];
  /** The value of an option as an integer within a range. */
  whole(name: string, least: number, most?: number): number | undefined;
}

/** Takes arguments apart. Throws `UsageError` for what is no option of the command, with the one that was probably meant. */
export function readArguments(args: readonly string[], options: OptionTable, usage: string): Arguments {
  const { values, positionals } = parse(args, options, usage);
  const valuesOf = (name: string): string[] => [values[name] ?? []].flat().filter((value) => typeof value === "string");
  return {
    positionals,
    has: (name) => values[name] === true || valuesOf(name).length > 0,
    text: (name) => valuesOf(name).at(-1),
    all: valuesOf,
    list: (name) => valuesOf(name).flatMap((value) => value.split(",").filter((part) => part !== "")),
    whole(name, least, most = Number.MAX_SAFE_INTEGER) {
      const value = valuesOf(name).at(-1);
      if (value === undefined) return undefined;
      const number = Number(value);
      if (/^-?\d+$/.test(value) && number >= least && number <= most) return number;
      const range = most === Number.MAX_SAFE_INTEGER ? `, ${least} or more` : ` from ${least} to ${most}`;
      throw new UsageError(`--${name} must be a whole number${range}, not "${value}"`);
    },
  };
}

/** The discovery that a command was told to use. Throws `UsageError` when it is none. */
export function discoveryOf(given: Arguments): string {
  const url = given.text("discovery") ?? "local:default";
  try {
    checkDiscoveryUrl(url);
  } catch (error) {
    if (error instanceof InvalidArgument) throw new UsageError(`--discovery: ${error.message}`);
    throw error;
  }
  return url;
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
    return parseArgs({ args: [...args], allowPositionals: true, options: { ...options } });
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

/** The forms of discovery URLs, a few on each line. */
function wrapForms(): string {
  const forms = discoveryUrlForms();
  const lines: string[] = [];
  for (let i = 0; i < forms.length; i += 2) lines.push(forms.slice(i, i + 2).join(", "));
  return lines.join(",\n                   ");
}
