import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { MINIMUM_PROTOCOL_VERSION, PACKAGE_VERSION, PROTOCOL_VERSION, versionConflict } from "./version.ts";

it("the version that workers advertise is that of the package", () => {
  const text = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  expect(JSON.parse(text)).toMatchObject({ version: PACKAGE_VERSION });
});

it("a peer is accepted when one of its versions is one of ours", () => {
  expect(versionConflict(PROTOCOL_VERSION, MINIMUM_PROTOCOL_VERSION)).toBeUndefined();
  expect(versionConflict(PROTOCOL_VERSION + 5, PROTOCOL_VERSION)).toBeUndefined();
  expect(versionConflict(MINIMUM_PROTOCOL_VERSION, 0)).toBeUndefined();
});

it("a peer that is too old or too new is told both versions", () => {
  expect(versionConflict(MINIMUM_PROTOCOL_VERSION - 1, 0)).toContain(`speaks ${PROTOCOL_VERSION}`);
  expect(versionConflict(PROTOCOL_VERSION + 5, PROTOCOL_VERSION + 1)).toContain(`version ${PROTOCOL_VERSION + 5}`);
});
