import { expect, test } from "vitest";
import { LullError, lullErrorCodes } from "../src/errors.ts";

test("an error carries its code, cause and facts", () => {
  const cause = new Error("disk");
  const error = new LullError("store-unavailable", "No disk.", { cause, details: { file: "x" } });
  expect(error).toBeInstanceOf(Error);
  expect(error).toMatchObject({
    name: "LullError",
    code: "store-unavailable",
    message: "No disk.",
    cause,
    details: { file: "x" },
    retryable: true,
  });
  expect(String(error)).toBe("LullError: No disk.");
});

test("what was not given is not there", () => {
  const error = new LullError("not-found", "No.");
  expect("cause" in error).toBe(false);
  expect("details" in error).toBe(false);
  expect(Object.keys(error).sort()).toEqual(["code", "name", "retryable"]);
});

test("the code says whether trying again may help, unless the thrower knows better", () => {
  const retryable = lullErrorCodes.filter((code) => new LullError(code, "").retryable);
  expect(retryable).toEqual(["early", "busy", "full", "store-unavailable", "store-busy", "clock-skew"]);
  expect(new LullError("store-unavailable", "", { retryable: false }).retryable).toBe(false);
  expect(new LullError("lost", "", { retryable: true }).retryable).toBe(true);
});

test("errors of another copy of the package are recognised, others are not", () => {
  const foreign = Object.assign(new Error("x"), { code: "lost", [Symbol.for("lull.error")]: true });
  expect(LullError.isInstance(new LullError("lost", ""))).toBe(true);
  expect(LullError.isInstance(foreign)).toBe(true);
  for (const other of [new Error("x"), { code: "lost" }, null, undefined, "lost"]) {
    expect(LullError.isInstance(other)).toBe(false);
  }
});

test("no code is listed twice", () => {
  expect(new Set(lullErrorCodes).size).toBe(lullErrorCodes.length);
});
