// A site with a web chat: one page, and the route that says who is logged in. README.md says how to run it.
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { SignJWT } from "jose";

const { LULL_URL = "http://127.0.0.1:8080", LULL_CHAT_SECRET = "", PORT = "3000" } = process.env;
const page = readFileSync(new URL("index.html", import.meta.url), "utf8").replace("%LULL_URL%", LULL_URL);
const secret = new TextEncoder().encode(LULL_CHAT_SECRET);

/** Your own session, looked up by its cookie. Everybody is Ada here. */
const userOf = (_request) => ({ id: "ada", name: "Ada" });

const server = createServer(async (request, response) => {
  if (request.url === "/") return response.writeHead(200, { "content-type": "text/html; charset=utf-8" }).end(page);
  if (request.url !== "/chat-token") return response.writeHead(404).end();
  const user = userOf(request);
  const claims = new SignJWT({ sub: user.id, name: user.name }).setProtectedHeader({ alg: "HS256" });
  const token = await claims.setExpirationTime("15m").sign(secret);
  response.writeHead(200, { "content-type": "application/json", "cache-control": "no-store" });
  response.end(JSON.stringify({ token }));
});
server.listen(Number(PORT), "127.0.0.1", () => console.log(`the shop is at http://127.0.0.1:${server.address().port}`));
