import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parse, parseAllDocuments } from "yaml";

/** The text of a file of `deploy/`. */
export function deployFile(name: string): string {
  return readFileSync(fileURLToPath(new URL(`../../deploy/${name}`, import.meta.url)), "utf8");
}

/** The instructions of the Dockerfile's last stage, each with its arguments. */
export function dockerInstructions(): ReadonlyMap<string, string> {
  const lines = deployFile("Dockerfile").replaceAll("\\\n", " ").split("\n");
  const stage = lines.slice(lines.findLastIndex((line) => line.startsWith("FROM ")));
  return new Map(
    stage.flatMap((line): [string, string][] => {
      const [, name, rest] = /^([A-Z]+)\s+(.*)$/.exec(line) ?? [];
      return name === undefined || rest === undefined ? [] : [[name, rest]];
    }),
  );
}

/** A command of the Dockerfile, in the form of a list. */
export function dockerCommand(name: "ENTRYPOINT" | "CMD" | "HEALTHCHECK"): string[] {
  const text = dockerInstructions().get(name) ?? "";
  return JSON.parse(text.slice(text.indexOf("["))) as string[];
}

/** The parts of a workload of Kubernetes that tests check. */
export interface Container {
  readonly name: string;
  readonly image: string;
  readonly args: readonly string[];
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
  readonly lifecycle: { readonly preStop: { readonly exec: { readonly command: readonly string[] } } };
  readonly resources: { readonly requests: Readonly<Record<string, string>> };
  readonly securityContext: Readonly<Record<string, unknown>>;
  readonly startupProbe: Probe;
  readonly readinessProbe: Probe;
  readonly livenessProbe: Probe;
}

export interface Probe {
  readonly grpc: { readonly port: number };
  readonly periodSeconds: number;
  readonly failureThreshold?: number;
}

type Labels = Readonly<Record<string, string>>;

export interface Manifests {
  readonly Service: {
    readonly metadata: { readonly name: string };
    readonly spec: {
      readonly clusterIP: string;
      readonly selector: Labels;
      readonly ports: readonly { readonly name: string; readonly port: number; readonly targetPort: string }[];
    };
  };
  readonly Deployment: {
    readonly metadata: { readonly name: string };
    readonly spec: {
      readonly replicas: number;
      readonly selector: { readonly matchLabels: Labels };
      readonly template: {
        readonly metadata: { readonly labels: Labels };
        readonly spec: {
          readonly terminationGracePeriodSeconds: number;
          readonly securityContext: Readonly<Record<string, unknown>>;
          readonly containers: readonly [Container];
        };
      };
    };
  };
  readonly PodDisruptionBudget: {
    readonly spec: { readonly minAvailable: number; readonly selector: { readonly matchLabels: Labels } };
  };
  readonly HorizontalPodAutoscaler: {
    readonly spec: {
      readonly minReplicas: number;
      readonly maxReplicas: number;
      readonly scaleTargetRef: { readonly kind: string; readonly name: string };
      readonly metrics: readonly { readonly resource: { readonly name: string } }[];
    };
  };
  readonly NetworkPolicy: {
    readonly spec: {
      readonly podSelector: { readonly matchLabels: Labels };
      readonly ingress: readonly {
        readonly from: readonly { readonly podSelector: { readonly matchLabels: Labels } }[];
        readonly ports: readonly { readonly port: string }[];
      }[];
    };
  };
}

/** The manifests for Kubernetes, by kind. */
export function manifests(): Manifests {
  const documents = parseAllDocuments(deployFile("kubernetes.yaml"));
  const problems = documents.flatMap(({ errors, warnings }) => [...errors, ...warnings]);
  if (problems.length > 0) throw new Error(problems.join("\n"));
  const values = documents.map((document) => document.toJS() as { readonly kind: string });
  return Object.fromEntries(values.map((value) => [value.kind, value])) as unknown as Manifests;
}

export interface ComposeService {
  readonly build: { readonly dockerfile: string };
  readonly networks: readonly string[];
  readonly deploy?: { readonly replicas: number };
  readonly stop_grace_period?: string;
  readonly entrypoint?: readonly string[];
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
}

/** The services of the compose file. */
export function composeServices(): { readonly workers: ComposeService; readonly caller: ComposeService } {
  return (parse(deployFile("compose.yaml")) as { services: ReturnType<typeof composeServices> }).services;
}

/** The settings of the systemd unit, as `Section.Name`. */
export function unitSettings(): ReadonlyMap<string, string> {
  let section = "";
  const settings = new Map<string, string>();
  for (const line of deployFile("wool-worker.service").split("\n")) {
    section = /^\[(\w+)\]$/.exec(line)?.[1] ?? section;
    const [, name, value] = /^(\w+)=(.*)$/.exec(line) ?? [];
    if (name !== undefined && value !== undefined) settings.set(`${section}.${name}`, value);
  }
  return settings;
}
