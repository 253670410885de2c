/**
 * What a server says of itself, and what that promises.
 *
 * @module
 */
import { LullError } from "../../errors.ts";
import type { Durability } from "../../ports.ts";
import type { Driver } from "./driver.ts";

/** One primary. Null: it would not say. */
export interface Server {
  version: string | null;
  /** Part of a cluster. */
  cluster: boolean;
  /** What it does when it is full: "noeviction" or worse. */
  policy: string | null;
  aof: boolean;
  /** "always", "everysec" or "no". */
  fsync: string | null;
  /** It saves snapshots. */
  snapshots: boolean | null;
  replicas: number;
}

/** Asks every primary. Managed services often forbid CONFIG: what it alone could say is null then. */
export async function servers(driver: Driver): Promise<Server[]> {
  const infos = await driver.everywhere(["INFO"]);
  const [fsync, policy, save] = await Promise.all(
    ["appendfsync", "maxmemory-policy", "save"].map((name) => settingOf(driver, name, infos.length)),
  );
  return infos.map((info, index) => {
    const fields = new Map(
      String(info)
        .split(/\r?\n/)
        .map((line): [string, string] => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1)]),
    );
    const saves = save?.[index] ?? null;
    return {
      version: fields.get("valkey_version") ?? fields.get("redis_version") ?? null,
      cluster: fields.get("cluster_enabled") === "1",
      policy: fields.get("maxmemory_policy") ?? policy?.[index] ?? null,
      aof: fields.get("aof_enabled") === "1",
      fsync: fsync?.[index] ?? null,
      snapshots: saves === null ? null : saves !== "",
      replicas: Number(fields.get("connected_slaves") ?? 0),
    };
  });
}

/** A setting of every primary; null where asking is forbidden. */
async function settingOf(driver: Driver, name: string, count: number): Promise<(string | null)[]> {
  try {
    const answers = await driver.everywhere(["CONFIG", "GET", name]);
    return answers.map((answer) => {
      // A list of name and value, or a map, as the client likes.
      if (Array.isArray(answer)) return answer.length > 1 ? String(answer[1]) : null;
      const value = (answer as Record<string, unknown> | null)?.[name];
      return value === undefined ? null : String(value);
    });
  } catch {
    return Array.from({ length: count }, () => null);
  }
}

/** @throws LullError `invalid-options` for a server or client that cannot work */
export function checkServers(found: readonly Server[], driver: Pick<Driver, "cluster">): void {
  for (const { version, cluster } of found) {
    if (version !== null && Number.parseInt(version, 10) < 7) {
      throw new LullError("invalid-options", `lull needs Redis 7.0 or newer, or Valkey; this server is ${version}.`);
    }
    if (cluster && !driver.cluster) {
      const text = "This server is part of a cluster: use createCluster of node-redis, or Cluster of ioredis.";
      throw new LullError("invalid-options", text);
    }
  }
}

/** Policies other than noeviction, or null when all is well. */
export function evicting(found: readonly Server[]): string | null {
  return found.find(({ policy }) => policy !== null && policy !== "noeviction")?.policy ?? null;
}

/** What the servers' settings, as they were when the store was opened, promise of an acknowledged write. */
export function durabilityOf(found: readonly Server[], waitReplicas: number): Durability {
  const failover =
    waitReplicas === 0
      ? "It waits for no replica: a failover may lose the last moments."
      : `It is acknowledged once ${waitReplicas} replica${waitReplicas === 1 ? " has" : "s have"} it in memory`;
  const all = waitReplicas > 0 && found.every(({ replicas }) => replicas <= waitReplicas);
  const copied = all
    ? `${failover}, which are all there are: a failover loses nothing that was acknowledged.`
    : waitReplicas > 0
      ? `${failover}; a failover to another one may lose the last moments.`
      : failover;
  if (found.some(({ aof }) => !aof)) {
    const snapshots = found.every((server) => server.snapshots !== false);
    const note = snapshots
      ? "No append-only file: a crash or restart of the server loses everything since its last snapshot, often minutes."
      : "Neither append-only file nor snapshots: a crash or restart of the server loses everything.";
    return { class: all ? "replicated" : "memory", note: `${note} ${copied}` };
  }
  const worst = ["no", null, "everysec", "always"].find((fsync) => found.some((server) => server.fsync === fsync));
  switch (worst) {
    case "always": {
      const note = "Every acknowledged write is synced to the server's disk (appendfsync always).";
      return { class: all ? "replicated" : "disk", note: `${note} ${copied}` };
    }
    case "everysec": {
      const note =
        "A crash of the server's machine, or of Redis alone while its disk is slow, may lose the last second or two (appendfsync everysec).";
      return { class: all ? "replicated" : "bounded", note: `${note} ${copied}` };
    }
    case "no": {
      const note = "A crash of the server's machine may lose the last half minute (appendfsync no).";
      return { class: all ? "replicated" : "bounded", note: `${note} ${copied}` };
    }
    default: {
      const note = "It keeps an append-only file, but does not say how often that is synced: perhaps every second.";
      return { class: all ? "replicated" : "bounded", note: `${note} ${copied}` };
    }
  }
}
