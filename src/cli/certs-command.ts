import { hostname } from "node:os";
import { nearestName } from "../checks/index.ts";
import { InvalidArgument } from "../errors.ts";
import {
  CertificateFolder,
  type CertificateReport,
  describeCertificate,
  type IssueOptions,
} from "../security/index.ts";
import { type Arguments, readArguments } from "./arguments.ts";
import type { Terminal } from "./command.ts";
import { type Command, EXIT, UsageError } from "./command.ts";

const USAGE = "Usage: wool certs init | worker [NAME] | client [NAME] | show [FILE...] | renew [NAME...]";

const HELP = `${USAGE}

Makes certificates for TLS between callers and workers, with your own authority.
Meant for development, and for systems without another authority.

  init           make an authority: ca.pem, and ca.key, which signs certificates.
                 Anyone with ca.key can give access: keep it off workers.
  worker [NAME]  make NAME.pem and NAME.key for workers ("worker" by default).
                 It is for this machine; --host adds other names.
  client [NAME]  the same for callers ("client" by default)
  show [FILE...] show the certificates of the folder, or of these files
  renew [NAME...] replace certificates by new ones for the same keys and names;
                 without NAME, all of them. Programs that read them with
                 WorkerCredentialsProvider.fromFiles take them without a restart.

  --dir DIR      the folder of the files (./certs by default)
  --host HOST    a host name, an address or a URI such as spiffe://example.org/w
                 that a certificate is for; may be given more than once
  --only-hosts   leave out the names of this machine
  --days DAYS    how long a certificate is valid (365, an authority 3650)
  --name TEXT    what people see (common name)
  --force        overwrite files
  --json         print the output of show as JSON

Only you can read the folder (mode 700) and the keys (mode 600). The exit status
is 0, 1 if show found a fault, and 2 if the command failed.`;

const OPTIONS = {
  dir: { type: "string" },
  host: { type: "string", multiple: true },
  "only-hosts": { type: "boolean" },
  days: { type: "string" },
  name: { type: "string" },
  force: { type: "boolean" },
  json: { type: "boolean" },
} as const;

/** `wool certs`: a development authority, and certificates of it. */
export const certsCommand: Command = {
  help: HELP,
  run(args, terminal) {
    try {
      return Promise.resolve(perform(args, terminal));
    } catch (error) {
      if (error instanceof InvalidArgument) return Promise.reject(new UsageError(`${error.message}.`));
      return Promise.reject(error);
    }
  },
};

const ACTIONS: Readonly<Record<string, (request: Request, terminal: Terminal) => number>> = {
  init: ({ folder, given, validity, names }, terminal) => {
    refuseNames(names, "init");
    folder.createAuthority(given.text("name"), validity, given.has("force"));
    return tell(folder, "ca", terminal);
  },
  worker: (request, terminal) => issue("worker", request, terminal),
  client: (request, terminal) => issue("client", request, terminal),
  show: ({ folder, given, names }, terminal) => {
    const reports = names.length === 0 ? folder.describeAll() : names.map((file) => describeCertificate(file));
    if (reports.length === 0)
      throw new UsageError(`there are no certificates in ${folder.path}. Try \`wool certs init\`.`);
    if (given.has("json")) terminal.print(JSON.stringify(reports, undefined, 2));
    else terminal.print(reports.map((report) => format(report, terminal)).join("\n\n"));
    return reports.some(({ problems }) => problems.length > 0) ? EXIT.negative : EXIT.ok;
  },
  renew: ({ folder, names, validity }, terminal) => {
    const wanted = names.length === 0 ? folder.names : names;
    if (wanted.length === 0) throw new UsageError(`there are no certificates in ${folder.path} to renew.`);
    for (const name of wanted) {
      folder.renew(name, validity);
      tell(folder, name, terminal);
    }
    return EXIT.ok;
  },
};

function perform(args: readonly string[], terminal: Terminal): number {
  const given = readArguments(args, OPTIONS, USAGE);
  const [action, ...names] = given.positionals;
  if (action === undefined) throw new UsageError(`which action? ${USAGE}`);
  const run = Object.hasOwn(ACTIONS, action) ? ACTIONS[action] : undefined;
  if (run === undefined) {
    const near = nearestName(action, Object.keys(ACTIONS));
    throw new UsageError(
      `there is no \`wool certs ${action}\`.${near === undefined ? "" : ` Did you mean ${near}?`} ${USAGE}`,
    );
  }
  const text = given.text("days");
  const days = text === undefined ? undefined : Number(text);
  if (days !== undefined && !(days > 0 && days <= 36_500)) {
    throw new UsageError(`--days must be a number above 0 and at most 36500, not ${text}.`);
  }
  const folder = new CertificateFolder(given.text("dir") ?? "certs");
  return run({ given, names, folder, validity: days === undefined ? {} : { days } }, terminal);
}

interface Request {
  readonly given: Arguments;
  readonly names: readonly string[];
  readonly folder: CertificateFolder;
  readonly validity: { readonly days?: number };
}

function refuseNames(names: readonly string[], action: string): void {
  if (names.length > 0) throw new UsageError(`\`wool certs ${action}\` takes no name, and ${names[0]} is one.`);
}

function issue(role: IssueOptions["role"], { folder, given, names, validity }: Request, terminal: Terminal): number {
  const [name = role, extra] = names;
  if (extra !== undefined) throw new UsageError(`one certificate at a time, and ${extra} is a second name. ${USAGE}`);
  const own = role === "client" || given.has("only-hosts") ? [] : ["localhost", hostname(), "127.0.0.1", "::1"];
  const all = [...new Set([...given.all("host"), ...own])];
  if (role === "worker" && all.length === 0) {
    throw new UsageError(
      "a worker's certificate needs a name that callers know it by: give --host, or leave out --only-hosts.",
    );
  }
  folder.issue(name, { role, commonName: given.text("name") ?? name, names: all, ...validity }, given.has("force"));
  return tell(folder, name, terminal);
}

function tell(folder: CertificateFolder, name: string, terminal: Terminal): number {
  terminal.print(format(folder.describe(name), terminal));
  return EXIT.ok;
}

function format(report: CertificateReport, terminal: Terminal): string {
  const day = (date: Date): string => date.toISOString().slice(0, 10);
  const lines = [
    `${terminal.tone("title", report.file)}  ${report.role} "${report.commonName}"`,
    `  valid        ${day(report.validFrom)} to ${day(report.validTo)}`,
    ...(report.names.length === 0 ? [] : [`  for          ${report.names.join(", ")}`]),
    `  fingerprint  ${report.fingerprint}`,
    ...report.problems.map((problem) => `  ${terminal.tone("bad", problem)}`),
  ];
  return lines.join("\n");
}
