// graphile-worker and pg-boss, told what to do as bench/src/worker.rs is:
//     node rival.mjs NAME prepare-*|publish-many|publish-one|drain|consume|latency N
// It prints `name value` lines. Both run with the settings that drain fastest.
import pg from "pg";
import { Logger, makeWorkerUtils, run } from "graphile-worker";
import { PgBoss } from "pg-boss";

const [rival, what, n] = [process.argv[2], process.argv[3], Number(process.argv[4])];
const connectionString = process.env.BENCH_DATABASE;
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const now = () => performance.timeOrigin + performance.now(); // milliseconds
const print = (name, value) => console.log(`${name} ${value}`);
const rate = (since) => print("rate", n / ((now() - since) / 1000));

const order = (n) => ({
  n, key: n % 10000, reference: "5f0c2c1e-7a53-4b7e-9a52-0c8f6b6f2a11", kind: "order.placed", sent: now(),
});

let seen = 0;
let complete;
const all = new Promise((resolve) => (complete = resolve));
const delays = [];
const effects = what === "consume" ? new pg.Pool({ connectionString, max: 16 }) : null;

const begin = (order) => what === "latency" && delays.push(now() - order.sent);
const write = (order) =>
  effects?.query({ name: "effect", text: "INSERT INTO effects (n, key) VALUES ($1, $2)", values: [order.n, order.key] });
const end = () => ++seen === n && complete();

async function graphile() {
  const batches = { localQueue: { size: 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 };
  const quiet = new Logger(() => () => {});
  const preset = { worker: { connectionString, concurrentJobs: 24, maxPoolSize: 25, logger: quiet, ...batches } };
  const utils = await makeWorkerUtils({ preset });
  await utils.migrate();
  const task = async (order) => {
    begin(order);
    await write(order);
    end();
  };
  return {
    pending: "graphile_worker._private_jobs",
    one: (order) => utils.addJob("order", order),
    many: (orders) => utils.addJobs(orders.map((payload) => ({ identifier: "order", payload }))),
    work: () => run({ preset, noHandleSignals: true, taskList: { order: task } }),
  };
}

async function boss() {
  const boss = new PgBoss({ connectionString, max: 10, useListenNotify: true });
  boss.on("error", (error) => console.error(error));
  await boss.start();
  await boss.createQueue("order", { notify: true });
  // It polls every half second at the most; only full batches make it fetch again at once.
  const batches = { batchSize: 500, localConcurrency: 2, burstWhenBatchFull: true, pollingIntervalSeconds: 0.5 };
  const task = async (jobs) => {
    jobs.forEach((job) => begin(job.data));
    await Promise.all(jobs.map((job) => write(job.data)));
    jobs.forEach(end);
  };
  return {
    pending: "pgboss.job WHERE name = 'order' AND state < 'completed'",
    one: (order) => boss.send("order", order),
    many: (orders) => boss.insert("order", orders.map((data) => ({ data }))),
    work: () => boss.work("order", batches, task),
  };
}

// Consumed and acknowledged.
async function consume(queue) {
  const probe = new pg.Client({ connectionString });
  await probe.connect();
  const started = now();
  await queue.work();
  await all;
  const pending = `SELECT EXISTS (SELECT FROM ${queue.pending})`;
  while ((await probe.query(pending)).rows[0].exists) await sleep(2);
  rate(started);
  print("rss", process.resourceUsage().maxRSS / 1024);
}

async function latency(queue) {
  await queue.work();
  await sleep(1000); // it has begun to listen
  for (let i = 0; i < n; i++) {
    await queue.one(order(i));
    await sleep(10);
  }
  await all;
  delays.sort((one, other) => one - other);
  for (const percent of [50, 99]) print(`p${percent}`, delays[Math.floor(((n - 1) * percent) / 100)]);
}

async function publishMany(queue) {
  const started = now();
  for (let i = 0; i < n; i += 500) {
    await queue.many(Array.from({ length: Math.min(500, n - i) }, (_, k) => order(i + k)));
  }
  rate(started);
}

async function publishOne(queue) {
  const started = now();
  const writer = async (_, first) => {
    for (let i = first; i < n; i += 8) await queue.one(order(i));
  };
  await Promise.all(Array.from({ length: 8 }, writer));
  rate(started);
}

const rivals = { "graphile-worker (npm)": graphile, "pg-boss": boss };
const whats = { "publish-many": publishMany, "publish-one": publishOne, drain: consume, consume, latency };
const queue = await rivals[rival]();
if (!what.startsWith("prepare")) await whats[what](queue);
process.exit(0);
