// The Chromium that tests and screenshots drive.
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";

const names = ["chromium", "chromium-browser", "google-chrome"];

/** `LULL_TEST_CHROMIUM`, or the first one on the PATH, or null. */
export function chromiumProgram() {
  const named = process.env.LULL_TEST_CHROMIUM;
  if (named) return existsSync(named) ? named : null;
  const folders = (process.env.PATH ?? "").split(delimiter).filter((folder) => folder !== "");
  return names.flatMap((name) => folders.map((folder) => join(folder, name))).find((path) => existsSync(path)) ?? null;
}

/** Why tests in a browser cannot run here, or null. */
export function chromiumMissing() {
  if (chromiumProgram() !== null) return null;
  const named = process.env.LULL_TEST_CHROMIUM;
  return named
    ? `LULL_TEST_CHROMIUM names ${named}, which is not there`
    : "no Chromium on this machine (Debian: apt-get install chromium)";
}

/**
 * How to start it. Chromium's own sandbox does not work for root; the pages it opens here are ours.
 * @returns {{ executablePath: string, args: string[] }}
 */
export function chromiumLaunch() {
  const executablePath = chromiumProgram();
  if (executablePath === null) throw new Error(chromiumMissing() ?? "no Chromium");
  const args = ["--disable-gpu", "--force-color-profile=srgb", "--font-render-hinting=none"];
  return { executablePath, args: process.getuid?.() === 0 ? [...args, "--no-sandbox"] : args };
}
