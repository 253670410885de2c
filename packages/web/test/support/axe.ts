/**
 * axe-core's judgement of a page as it stands.
 *
 * @module
 */
import axe from "axe-core";
import type { Page } from "playwright-core";

/** Every violation, a line each with the elements concerned; all of axe's rules, advice included. */
export async function violations(page: Page): Promise<string[]> {
  // By the debugger, which no policy of the page concerns.
  await page.evaluate(axe.source);
  await page.evaluate(() =>
    Promise.all(
      document
        .getAnimations()
        .filter((animation) => animation.effect?.getComputedTiming().endTime !== Number.POSITIVE_INFINITY)
        .map((animation) => animation.finished.catch(() => {})),
    ),
  );
  const results = await page.evaluate(() => (window as unknown as { axe: typeof axe }).axe.run());
  return results.violations.map(
    ({ id, help, nodes }) =>
      `${id}: ${help}\n${nodes.map((node) => `  ${node.target.join(" ")}: ${node.failureSummary?.replace(/\s+/g, " ")}`).join("\n")}`,
  );
}
