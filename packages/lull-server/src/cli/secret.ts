import { newSecret } from "../webhook.ts";

/** `lull secret`: a new signing secret, alone on its line, so that it can go straight into a file. */
export function secret(): void {
  console.log(newSecret());
}
