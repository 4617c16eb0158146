import type inspector from "node:inspector";
import type { Program } from "acorn";
import { inspect, listening, withDebugger, withFreshDebugger } from "./inspector-session.ts";
import { readSurveyed, type SurveyedScript, surveyScripts } from "./script-survey.ts";
import { captureNumber } from "./variable-marks.ts";

/** A piece of source that V8 compiled: a module, a CommonJS file, an `eval`. */
export interface Script {
  readonly id: string;
  /** `file:///...`, `node:...`, or empty for code made at run time. */
  readonly url: string;
  readonly isModule: boolean;
  /** Position of its first character in the file it belongs to, from 0. */
  readonly startLine: number;
  readonly startColumn: number;
  readonly sourceMapUrl: string;
  /** The source in V8, after all transforms; undefined for scripts of Node.js. */
  readonly source: string | undefined;
  /** Set when it had to be parsed already. */
  readonly program?: Program;
}

interface KnownScript extends Omit<Script, "source"> {
  source: string | undefined;
}

const known = new Map<string, KnownScript>();
const newest = new Map<string, KnownScript>();
/** Scripts that were listed and have not been asked for. */
const surveyed = new Map<string, SurveyedScript>();
const MAX_READ_ALONG = 64;

function isOwnToNode(url: string): boolean {
  return url.startsWith("node:");
}

function remember(parameters: inspector.Debugger.ScriptParsedEventDataType): void {
  const { scriptId, url, startLine, startColumn, isModule, sourceMapURL } = parameters;
  if (known.has(scriptId)) return;
  const script: KnownScript = {
    id: scriptId,
    url: url.startsWith("/") ? `file://${url}` : url,
    isModule: isModule === true,
    startLine,
    startColumn,
    sourceMapUrl: sourceMapURL ?? "",
    source: undefined,
  };
  known.set(scriptId, script);
  newest.set(script.url, script);
}

let announced: number | undefined;

/**
 * Makes V8 announce every script, which takes 100 ms when thousands are loaded, and reads the source of one. It also
 * reads the sources of the user's files, since the next function will most likely come from one of them.
 */
function readScripts(wanted: string | undefined, maxReadAlong = MAX_READ_ALONG): void {
  announced = captureNumber();
  listening<inspector.Debugger.ScriptParsedEventDataType>("Debugger.scriptParsed", remember, () => {
    withFreshDebugger(() => {
      let readAlong = 0;
      for (const script of known.values()) {
        if (script.source !== undefined || isOwnToNode(script.url)) continue;
        if (script.id !== wanted) {
          if (readAlong === maxReadAlong || !isLikelyNext(script)) continue;
          readAlong += 1;
        }
        script.source = readSource(script.id);
      }
    });
  });
}

/** Reads the source of a script that V8 has announced before; false when there is none. */
function readAnnounced(script: KnownScript | undefined): boolean {
  if (script !== undefined) script.source = withDebugger(() => readSource(script.id));
  return script?.source !== undefined;
}

/** True while the announced scripts are complete: no user code is compiled during a capture. */
function isStillAnnounced(): boolean {
  return announced !== undefined && announced === captureNumber();
}

function isLikelyNext({ url }: KnownScript): boolean {
  return url.startsWith("file:") && !url.includes("/node_modules/");
}

function readSource(scriptId: string): string | undefined {
  try {
    return inspect<inspector.Debugger.GetScriptSourceReturnType>("Debugger.getScriptSource", { scriptId }).scriptSource;
  } catch {
    // Garbage-collected meanwhile: it is not needed any more.
    return undefined;
  }
}

let lastSurvey: number | undefined;

/** Finds a script without turning the debugger on; false when that is not possible. */
function findQuietly(isWanted: (script: SurveyedScript) => boolean): boolean {
  let found = [...surveyed.values()].findLast(isWanted);
  if (found === undefined && surveyOncePerCapture()) found = [...surveyed.values()].findLast(isWanted);
  if (found === undefined) return false;
  const script = isOwnToNode(found.url) ? ownToNode(found) : readSurveyed(found);
  if (script === undefined) return false;
  surveyed.delete(found.id);
  known.set(script.id, script);
  newest.set(script.url, script);
  return true;
}

/** Lists all scripts; false when that was done in this capture already: no user code is compiled meanwhile. */
function surveyOncePerCapture(): boolean {
  const capture = captureNumber();
  if (capture !== undefined && lastSurvey === capture) return false;
  lastSurvey = capture;
  for (const script of surveyScripts()) if (!known.has(script.id)) surveyed.set(script.id, script);
  return true;
}

function ownToNode({ id, url }: SurveyedScript): KnownScript {
  return { id, url, isModule: false, startLine: 0, startColumn: 0, sourceMapUrl: "", source: undefined };
}

/** The script of that id, its source included; undefined when V8 does not know it. */
export function scriptOf(id: string): Script | undefined {
  const script = known.get(id);
  if (script !== undefined && (script.source !== undefined || isOwnToNode(script.url))) return script;
  if (!readAnnounced(script) && !findQuietly((candidate) => candidate.id === id)) readScripts(id);
  return known.get(id);
}

/** The URL of the script of that id, without its source; undefined when V8 does not list it without the debugger. */
export function scriptUrl(id: string): string | undefined {
  const listed = known.get(id) ?? surveyed.get(id);
  if (listed !== undefined) return listed.url;
  surveyOncePerCapture();
  return surveyed.get(id)?.url;
}

/** The script that was compiled from this url; looks again when it is not known yet. The newest if there are several. */
export function scriptFrom(url: string): Script | undefined {
  const script = newest.get(url);
  if (script !== undefined && (script.source !== undefined || isOwnToNode(url))) return script;
  if (readAnnounced(script) || findQuietly((candidate) => candidate.url === url)) return newest.get(url);
  // After a module, its imports are usually needed too.
  if (!isStillAnnounced()) readScripts(script?.id, Number.POSITIVE_INFINITY);
  return newest.get(url);
}

/** The URLs of all scripts that this process has loaded, as far as V8 lists them without the debugger. */
export function loadedUrls(): Set<string> {
  for (const script of surveyScripts()) if (!known.has(script.id)) surveyed.set(script.id, script);
  return listedUrls();
}

/** The URLs of the scripts that were known when they were listed last. A list takes 40 ms if large packages are loaded. */
export function listedUrls(): Set<string> {
  return new Set([...known.values(), ...surveyed.values()].map(({ url }) => url));
}
