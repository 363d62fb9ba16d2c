// The reference PDS for tests: an in-process did:plc directory and a real
// @atproto/pds (SQLite on disk), both on loopback only. Creates accounts, prints
// ONE line of JSON on stdout once it serves, and runs until SIGTERM, SIGINT or
// the end of its standard input (so that it never outlives the test).
//
// usage: node start-pds.mjs [--data DIR] [--port N] [--plc-port N] [--accounts alice,bob]
//                           [--rate-limits] [--max-buffer N] [--backfill-ms N] [--watch-stdin]
//
// A second start with the same --data continues: DIR/state.json keeps the ports,
// the secrets and the accounts, DIR/plc.json the directory's operations.
import fs from 'node:fs'
import net from 'node:net'
import os from 'node:os'
import path from 'node:path'
import crypto from 'node:crypto'
import { parseArgs } from 'node:util'

const { values: args } = parseArgs({ options: {
  data: { type: 'string' }, port: { type: 'string' }, 'plc-port': { type: 'string' },
  accounts: { type: 'string', default: 'alice' }, 'rate-limits': { type: 'boolean', default: false },
  'max-buffer': { type: 'string' }, 'backfill-ms': { type: 'string' }, 'watch-stdin': { type: 'boolean', default: false },
} })

// Both servers call listen(port) without a host and would bind every interface:
// every listen(port) of this process goes to loopback.
const listen = net.Server.prototype.listen
net.Server.prototype.listen = function (...a) {
  if (typeof a[0] === 'number' && typeof a[1] !== 'string') a.splice(1, 0, '127.0.0.1')
  return listen.apply(this, a)
}
process.env.LOG_ENABLED ??= 'false' // pino; LOG_ENABLED=true LOG_DESTINATION=FILE to debug

const hex = (n) => crypto.randomBytes(n).toString('hex')
// Below the ports that systems give away by themselves, so that nothing that
// listens on "any port" meanwhile can take it.
const freePort = () => new Promise((ok) => {
  const port = crypto.randomInt(10_000, 32_000)
  const s = net.createServer()
  s.once('error', () => ok(freePort()))
  s.listen(port, '127.0.0.1', () => s.close(() => ok(port)))
})
const writeFile = (file, value) => { // whole or not at all, also after SIGKILL
  const fd = fs.openSync(file + '.new', 'w', 0o600)
  fs.writeSync(fd, JSON.stringify(value))
  fs.fsyncSync(fd)
  fs.closeSync(fd)
  fs.renameSync(file + '.new', file)
}
const readFile = (file, fallback) => fs.existsSync(file) ? JSON.parse(fs.readFileSync(file, 'utf8')) : fallback

const { PDS, envToCfg, envToSecrets } = await import('@atproto/pds') // seconds
const plc = (await import('@did-plc/server')).default

// State: what a second start needs.
const data = args.data ?? fs.mkdtempSync(path.join(os.tmpdir(), 'pds-'))
fs.mkdirSync(path.join(data, 'blobs'), { recursive: true })
const stateFile = path.join(data, 'state.json')
const state = readFile(stateFile, { rotationKey: hex(32), jwtSecret: hex(16), adminPassword: hex(16), accounts: [] })
state.port = Number(args.port ?? state.port ?? await freePort())
state.plcPort = Number(args['plc-port'] ?? state.plcPort ?? 0)
while (!state.plcPort) {
  const port = await freePort()
  if (port !== state.port) state.plcPort = port // both are free until one of them is taken
}
for (const name of args.accounts.split(',').filter(Boolean)) {
  const handle = `${name}.test`
  if (!state.accounts.some((a) => a.handle === handle)) state.accounts.push({ handle, password: 'pw-' + hex(8) })
}
writeFile(stateFile, state)

// The did:plc directory: the mock database, made durable by a log of operations.
const plcFile = path.join(data, 'plc.json')
const plcLog = readFile(plcFile, [])
const plcDb = plc.Database.mock()
for (const [did, op] of plcLog) await plcDb.validateAndAddOp(did, op)
const addOp = plcDb.validateAndAddOp.bind(plcDb)
plcDb.validateAndAddOp = async (did, op) => {
  await addOp(did, op)
  plcLog.push([did, op])
  writeFile(plcFile, plcLog)
}
const plcServer = plc.PlcServer.create({ db: plcDb, port: state.plcPort })
await plcServer.start()
const plcUrl = `http://localhost:${state.plcPort}`

// The PDS.
const env = {
  devMode: true, port: state.port, hostname: 'localhost',
  dataDirectory: data, blobstoreDiskLocation: path.join(data, 'blobs'),
  didPlcUrl: plcUrl,
  plcRotationKeyK256PrivateKeyHex: state.rotationKey,
  adminPassword: state.adminPassword, jwtSecret: state.jwtSecret,
  serviceHandleDomains: ['.test'],
  inviteRequired: false,
  disableSsrfProtection: true,
  rateLimitsEnabled: args['rate-limits'],
  maxSubscriptionBuffer: args['max-buffer'] ? Number(args['max-buffer']) : undefined,
  repoBackfillLimitMs: args['backfill-ms'] ? Number(args['backfill-ms']) : undefined,
  crawlers: [],
}
const pds = await PDS.create(envToCfg(env), envToSecrets(env))
await pds.start()
const url = `http://localhost:${state.port}`

// The accounts: those without a DID in the state are new, or were being created
// when the last run was killed.
const call = async (method, body) => {
  const r = await fetch(`${url}/xrpc/${method}`, {
    method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body),
  })
  return { ok: r.ok, status: r.status, body: await r.json() }
}
for (const a of state.accounts) {
  if (a.did) continue
  let r = await call('com.atproto.server.createAccount', {
    handle: a.handle, email: a.handle.replace('.', '@example.'), password: a.password,
  })
  if (!r.ok) r = await call('com.atproto.server.createSession', { identifier: a.handle, password: a.password })
  if (!r.ok) throw new Error(`account ${a.handle}: ${r.status} ${JSON.stringify(r.body)}`)
  a.did = r.body.did
  writeFile(stateFile, state)
}

let stopping = false
const stop = async () => {
  if (stopping) return
  stopping = true
  setTimeout(() => process.exit(0), 3000).unref() // open firehoses don't hold it
  await pds.destroy().catch(() => {})
  await plcServer.destroy().catch(() => {})
  if (!args.data) fs.rmSync(data, { recursive: true, force: true })
  process.exit(0)
}
process.on('SIGTERM', stop)
process.on('SIGINT', stop)
if (args['watch-stdin']) process.stdin.on('end', stop).on('error', stop).resume()

console.log(JSON.stringify({
  pdsUrl: url, plcUrl, adminPassword: state.adminPassword, dataDir: data, pid: process.pid,
  accounts: state.accounts,
}))
