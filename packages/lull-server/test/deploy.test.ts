/**
 * The files of deploy/ as far as they can be judged without Docker, Kubernetes, systemd, nginx, Caddy and Prometheus:
 * they parse, every setting and every metric they name exists, and their times fit the server's.
 */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { memory } from "lull";
import { describe, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { mostWaitSeconds } from "../src/app/messages.ts";
import { parseKeys } from "../src/auth.ts";
import { createMetrics } from "../src/metrics.ts";
import { operations } from "../src/openapi.ts";
import { mayBeFile, settingNames, settings, variableOf } from "../src/settings.ts";

const folder = fileURLToPath(new URL("../../../deploy", import.meta.url));

function walk(path: string): string[] {
  return readdirSync(path).flatMap((name) => {
    const full = join(path, name);
    return statSync(full).isDirectory() ? walk(full) : [full];
  });
}
const files = walk(folder).map((path) => [relative(folder, path), readFileSync(path, "utf8")] as const);
const text = (name: string) => files.find(([file]) => file === name)?.[1] ?? expect.unreachable(`no deploy/${name}`);
// biome-ignore lint/suspicious/noExplicitAny: documents of many shapes
const yaml = (name: string): any[] =>
  parseAllDocuments(text(name), { merge: true }).map((document) => {
    expect(document.errors).toEqual([]);
    return document.toJS();
  });
const stopMs = (file: string) => Number(/LULL_STOP_TIMEOUT_MS\D+(\d+)/.exec(file)?.[1]);

describe("deploy/", () => {
  test("names only settings that exist, with values they take", () => {
    const known = settingNames.flatMap((name) => [
      variableOf(name),
      ...(mayBeFile(settings[name]) ? [`${variableOf(name)}_FILE`] : []),
    ]);
    for (const [file, content] of files)
      for (const [name] of content.matchAll(/LULL_[A-Z_]+/g)) expect(known, `${file} names ${name}`).toContain(name);
    expect(() =>
      parseKeys(["web:send+read:0123456789abcdef01234567", "ops:operate:0123456789abcdef01234568"]),
    ).not.toThrow();
    expect(text("compose/compose.yml")).toContain("web:send+read:%s\\nops:operate:%s\\n");
  });

  test("every YAML file parses", () => {
    const names = files.map(([file]) => file).filter((file) => file.endsWith(".yml"));
    expect(names.length).toBeGreaterThanOrEqual(3);
    for (const name of names) expect(yaml(name).length, name).toBeGreaterThan(0);
  });

  test("alerts use metrics and outcomes that exist", async () => {
    const store = memory();
    const metrics = createMetrics({
      on: () => () => {},
      stats: async () => ({ ...(await store.stats()), working: 0 }),
      list: async () => ({ conversations: [], next: null, nowMs: 0 }),
      paused: false,
      working: 0,
    });
    const told = await metrics.text();
    metrics.stop();
    const names = new Set([...told.matchAll(/^# TYPE (\S+)/gm)].map((match) => match[1] as string));
    const [{ groups }] = yaml("alerts.yml");
    // biome-ignore lint/suspicious/noExplicitAny: rules as Prometheus has them
    const rules: any[] = groups.flatMap((group: any) => group.rules);
    expect(rules.length).toBeGreaterThan(8);
    for (const { alert, expr, labels, annotations } of rules) {
      const used = [...String(expr).matchAll(/lull_[a-z_]+/g)].map(([name]) => name);
      expect(used.length, alert).toBeGreaterThan(0);
      for (const name of used) expect(names, alert).toContain(name.replace(/_(bucket|count|sum)$/, ""));
      for (const [, outcome] of String(expr).matchAll(/outcome="([^"]+)"/g))
        expect(told).toContain(`outcome="${outcome}"`);
      expect(["page", "ticket"]).toContain(labels.severity);
      expect(annotations.summary, alert).toBeTruthy();
    }
    for (const wanted of ["lull_oldest_unanswered_seconds", "lull_store_up", "lull_expired_leases_total"])
      expect(text("alerts.yml")).toContain(wanted);
  });

  test("the image never runs as root, says how it is, and takes SIGTERM itself", () => {
    const dockerfile = text("Dockerfile");
    const final = dockerfile.slice(dockerfile.lastIndexOf("\nFROM "));
    expect(final).toMatch(/^USER node$/m);
    expect(final.indexOf("USER node")).toBeLessThan(final.indexOf("ENTRYPOINT"));
    expect(final).toMatch(/HEALTHCHECK[^\n]*\\\n {2}CMD \[.*\/readyz.*\]/);
    expect(final).toMatch(/^ENTRYPOINT \["node", /m);
    expect(text("Dockerfile.dockerignore").split("\n").slice(0, 2)).toContain("**");
  });

  test("whoever stops a server gives it longer than it takes", () => {
    const [compose] = yaml("compose/compose.yml");
    const { lull } = compose.services;
    expect(Number.parseInt(lull.stop_grace_period, 10) * 1_000).toBeGreaterThan(
      Number(lull.environment.LULL_STOP_TIMEOUT_MS),
    );
    const unit = text("lull.service");
    expect(Number(/^TimeoutStopSec=(\d+)$/m.exec(unit)?.[1]) * 1_000).toBeGreaterThan(stopMs(unit));
    const [deployment] = yaml("kubernetes/lull.yml");
    const pod = deployment.spec.template.spec;
    const env = Object.fromEntries(
      pod.containers[0].env.map(({ name, value }: { name: string; value: string }) => [name, value]),
    );
    const preStopMs = Number(/(\d+)\)"?$/.exec(pod.containers[0].lifecycle.preStop.exec.command.at(-1))?.[1]);
    expect(pod.terminationGracePeriodSeconds * 1_000).toBeGreaterThan(Number(env.LULL_STOP_TIMEOUT_MS) + preStopMs);
  });

  test("Kubernetes: two replicas, not root, probes that exist, the admin port behind a service of its own", () => {
    const documents = yaml("kubernetes/lull.yml");
    expect(documents.map(({ kind }) => kind)).toEqual(["Deployment", "Service", "Service", "PodDisruptionBudget"]);
    const [{ spec }, web, admin] = documents;
    expect(spec.replicas).toBe(2);
    const pod = spec.template.spec;
    expect(pod.securityContext.runAsNonRoot).toBe(true);
    const [container] = pod.containers;
    const paths = new Set(operations.map(({ path }) => path));
    for (const probe of ["livenessProbe", "readinessProbe", "startupProbe"])
      expect(paths).toContain(container[probe].httpGet.path);
    expect(container.securityContext).toMatchObject({ readOnlyRootFilesystem: true, allowPrivilegeEscalation: false });
    expect(pod.initContainers[0].args).toEqual(["migrate"]);
    expect(web.spec.ports.map(({ targetPort }: { targetPort: string }) => targetPort)).toEqual(["http"]);
    expect(admin.spec.ports.map(({ targetPort }: { targetPort: string }) => targetPort)).toEqual(["admin"]);
    for (const secret of ["LULL_STORE", "LULL_API_KEYS"])
      expect(container.env.map(({ name }: { name: string }) => name)).not.toContain(secret);
  });

  test("reverse proxies hold nothing back, and wait longer than ?wait= may", () => {
    const nginx = text("nginx.conf");
    expect(nginx).toMatch(/^\s*proxy_buffering off;$/m);
    expect(Number(/proxy_read_timeout (\d+)s/.exec(nginx)?.[1])).toBeGreaterThan(mostWaitSeconds);
    expect(nginx.match(/{/g)?.length).toBe(nginx.match(/}/g)?.length);
    expect(nginx).toMatch(/client_max_body_size 2m;/);
    const caddy = text("Caddyfile");
    expect(caddy).toMatch(/^\s*flush_interval -1$/m);
    expect(caddy).not.toMatch(/^\s*encode\b/m);
    expect(Number(/response_header_timeout (\d+)s/.exec(caddy)?.[1])).toBeGreaterThan(mostWaitSeconds);
    expect(settings.maxBodyBytes.default).toBe(2 * 1_048_576);
  });

  test("the compose file: not root, nothing writable but the mounts, the database healthy first", () => {
    const [{ services, secrets }] = yaml("compose/compose.yml");
    expect(services.lull).toMatchObject({ read_only: true, cap_drop: ["ALL"], deploy: { replicas: 2 } });
    expect(services.lull.depends_on.postgres.condition).toBe("service_healthy");
    expect(services.postgres.healthcheck.test.join(" ")).toContain("pg_isready");
    const ignored = text("compose/.gitignore").split("\n");
    for (const { file } of Object.values(secrets) as { file: string }[]) expect(ignored).toContain(file.slice(2));
  });
});
