'use strict'
// Drop-in for the part of better-sqlite3 that @atproto/pds + kysely use, on top of Node's own node:sqlite.
// Nothing has to be compiled, and nothing but the npm registry is needed to install.
const { DatabaseSync } = require('node:sqlite')
const { constants } = require('node:sqlite')

const CODES = {
  1: 'SQLITE_ERROR', 5: 'SQLITE_BUSY', 6: 'SQLITE_LOCKED', 8: 'SQLITE_READONLY', 10: 'SQLITE_IOERR',
  11: 'SQLITE_CORRUPT', 13: 'SQLITE_FULL', 14: 'SQLITE_CANTOPEN', 19: 'SQLITE_CONSTRAINT',
  261: 'SQLITE_BUSY_RECOVERY', 517: 'SQLITE_BUSY_SNAPSHOT', 773: 'SQLITE_BUSY_TIMEOUT',
  1555: 'SQLITE_CONSTRAINT_PRIMARYKEY', 2067: 'SQLITE_CONSTRAINT_UNIQUE', 1299: 'SQLITE_CONSTRAINT_NOTNULL',
  787: 'SQLITE_CONSTRAINT_FOREIGNKEY', 275: 'SQLITE_CONSTRAINT_CHECK',
}
class SqliteError extends Error {
  constructor(message, code) { super(message); this.name = 'SqliteError'; this.code = code }
}
const wrap = (fn) => {
  try { return fn() } catch (e) {
    if (e && e.code === 'ERR_SQLITE_ERROR') {
      throw new SqliteError(e.errstr && !e.message ? e.errstr : e.message, CODES[e.errcode] ?? CODES[e.errcode & 0xff] ?? 'SQLITE_ERROR')
    }
    throw e
  }
}
const fix = (row) => { // better-sqlite3 returns Buffers for blobs, node:sqlite returns Uint8Arrays
  if (row) for (const k in row) {
    const v = row[k]
    if (v instanceof Uint8Array && !Buffer.isBuffer(v)) row[k] = Buffer.from(v.buffer, v.byteOffset, v.byteLength)
  }
  return row
}
const params = (a) => (a.length === 1 && Array.isArray(a[0]) ? a[0] : a)

class Statement {
  constructor(st, source) { this.st = st; this.source = source; this.reader = st.columns().length > 0 }
  all(...a) { return wrap(() => this.st.all(...params(a)).map(fix)) }
  get(...a) { return wrap(() => fix(this.st.get(...params(a)))) }
  run(...a) { return wrap(() => this.st.run(...params(a))) }
  * iterate(...a) { for (const r of this.st.iterate(...params(a))) yield fix(r) }
}
class Database {
  constructor(filename = ':memory:', opts = {}) {
    this.name = filename
    this.open = true
    wrap(() => { this.db = new DatabaseSync(filename, { timeout: opts.timeout ?? 5000, readOnly: !!opts.readonly }) })
  }
  prepare(sql) { return wrap(() => new Statement(this.db.prepare(sql), sql)) }
  exec(sql) { wrap(() => this.db.exec(sql)); return this }
  pragma(s, { simple = false } = {}) {
    const rows = this.prepare(`PRAGMA ${s}`).all()
    return simple ? (rows[0] ? Object.values(rows[0])[0] : undefined) : rows
  }
  close() { if (this.open) { this.open = false; this.db.close() } return this }
  get inTransaction() { return this.db.isTransaction }
}
module.exports = Database
module.exports.SqliteError = SqliteError
