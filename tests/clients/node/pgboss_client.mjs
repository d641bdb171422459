// pg-boss: queues of jobs in tables: its schema, sending, fetching by several, retries, schedules, maintenance.
import PgBoss from "pg-boss";
import { check, same, until, url, version } from "./scenario.mjs";

version("pg-boss");
let boss;
const errors = [];
await check("connect", "its schema", async () => {
  boss = new PgBoss({ connectionString: url });
  boss.on("error", (error) => errors.push(error.message));
  await boss.start();
  same(await boss.isInstalled(), true);
});
await check("migrations", "started again", async () => {
  const other = new PgBoss(url);
  await other.start();
  same(await other.schemaVersion(), await boss.schemaVersion());
  await other.stop({ graceful: false });
});
await check("queries", "queues", async () => {
  await boss.createQueue("dead");
  await boss.createQueue("mail", { retryLimit: 1, deadLetter: "dead" });
  await boss.createQueue("single", { policy: "singleton" });
  same((await boss.getQueues()).map((q) => q.name).sort().slice(-3), ["dead", "mail", "single"]);
});
await check("queries", "send, fetch, complete", async () => {
  const id = await boss.send("mail", { to: "a" }, { priority: 1 });
  await boss.send("mail", { to: "b" });
  const [first] = await boss.fetch("mail");
  same([first.id, first.data], [id, { to: "a" }]);
  await boss.complete("mail", id, { sent: true });
  same((await boss.getJobById("mail", id)).state, "completed");
});
await check("transactions", "each job once, by several workers", async () => {
  await boss.createQueue("many");
  await boss.insert(Array.from({ length: 60 }, (_, n) => ({ name: "many", data: { n } })));
  const seen = [];
  const take = async () => {
    for (let jobs = await boss.fetch("many", { batchSize: 5 }); jobs.length; jobs = await boss.fetch("many", { batchSize: 5 })) {
      seen.push(...jobs.map((job) => job.data.n));
      await boss.complete("many", jobs.map((job) => job.id));
    }
  };
  await Promise.all([take(), take(), take()]);
  same(seen.sort((a, b) => a - b), Array.from({ length: 60 }, (_, n) => n));
});
await check("queries", "failures, retries, dead letters", async () => {
  for (let tries = 0; tries < 2; tries++) {
    const [job] = await boss.fetch("mail");
    await boss.fail("mail", job.id, { why: "no" });
  }
  await until(async () => (await boss.fetch("dead")).length === 1);
});
await check("queries", "workers that are told", async () => {
  const done = [];
  await boss.createQueue("work");
  await boss.work("work", { pollingIntervalSeconds: 0.5 }, async (jobs) => { done.push(...jobs.map((job) => job.data.n)); });
  for (let n = 0; n < 5; n++) await boss.send("work", { n });
  await until(() => done.length === 5);
  await boss.offWork("work");
});
await check("queries", "delays, keys, throttling, cancelling", async () => {
  same((await boss.fetch("single")).length, 0);
  const later = await boss.sendAfter("single", { n: 1 }, {}, 3600);
  same((await boss.fetch("single")).length, 0);
  await boss.cancel("single", later);
  await boss.resume("single", later);
  await boss.deleteJob("single", later);
  same([typeof await boss.sendThrottled("mail", {}, {}, 60, "k"), await boss.sendThrottled("mail", {}, {}, 60, "k")], ["string", null]);
});
await check("queries", "schedules and events", async () => {
  await boss.schedule("mail", "0 0 1 1 *", { yearly: true });
  same((await boss.getSchedules()).map((each) => each.name), ["mail"]);
  await boss.unschedule("mail");
  await boss.subscribe("signed", "mail");
  await boss.publish("signed", { id: 1 });
});
await check("queries", "supervision and the end", async () => {
  await boss.maintain();
  await boss.deleteQueue("many");
  await boss.stop({ graceful: true, timeout: 5000 });
  same(errors, []);
});
