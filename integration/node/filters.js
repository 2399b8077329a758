// SPDX-License-Identifier: Apache-2.0
// Filters in databases of an addon, beside a map that knows what every lookup must give:
//
//   node filters.js ADDON SPEC DIRECTORY
//
// ADDON is @nxtedition/rocksdb, which names its filter, or rocksdb-native, which makes Bloom filters alone.
// Rows are put, deleted, compacted; the database is opened again, also in a process without rocksieve
// (SPEC is then "-", and the file DIRECTORY/rows says what is there).
'use strict';
const assert = require('assert');
const fs = require('fs');
const path = require('path');
const { spawnSync } = require('child_process');

const [addon, spec, directory] = process.argv.slice(2);
const database = path.join(directory, 'db');
const UNIVERSE = 100000, STEPS = 5, LOOKUPS_AT_ONCE = 10000;
const key = (number) => 'key' + String(number).padStart(8, '0');

const addons = {
  '@nxtedition/rocksdb': async () => {
    const { RocksLevel } = require('@nxtedition/rocksdb');
    const db = new RocksLevel(database, spec === '-' ? {} : { filterPolicy: spec });
    await db.open();
    return {
      write: (rows) => db.batch(rows.map(([number, value]) => value === null
        ? { type: 'del', key: key(number) } : { type: 'put', key: key(number), value })),
      read: (numbers) => db.getMany(numbers.map(key)),
      close: () => db.close(),
    };
  },
  'rocksdb-native': async () => {
    const RocksDB = require('rocksdb-native');
    const db = new RocksDB(database);
    await db.ready();
    return {
      write: async (rows) => {
        const batch = db.write();
        for (const [number, value] of rows) {
          if (value === null) batch.tryDelete(key(number));
          else batch.tryPut(key(number), value);
        }
        await batch.flush();
        batch.destroy();
      },
      read: async (numbers) => {
        const batch = db.read();
        const values = numbers.map((number) => batch.get(key(number)));
        await batch.flush();
        batch.destroy();
        return (await Promise.all(values)).map((value) => value === null ? undefined : String(value));
      },
      flush: () => db.flush(),
      compact: () => db.compactRange(),
      close: () => db.close(),
    };
  },
};

async function check(db, oracle) {
  for (let first = 0; first < UNIVERSE; first += LOOKUPS_AT_ONCE) {
    const numbers = Array.from({ length: LOOKUPS_AT_ONCE }, (_, i) => first + i);
    const values = await db.read(numbers);
    for (const number of numbers) {
      assert.strictEqual(values[number - first], oracle.get(number), `key ${number}`);
    }
  }
  return UNIVERSE;
}

function filesHaveOurFilter() {
  const files = fs.readdirSync(database).filter((name) => name.endsWith('.sst'));
  assert.notStrictEqual(files.length, 0, 'no table file');
  return files.some((name) => fs.readFileSync(path.join(database, name)).includes('rocksieve.'));
}

async function main() {
  const file = path.join(directory, 'rows');
  if (spec === '-') {
    const db = await addons[addon]();
    await check(db, new Map(JSON.parse(fs.readFileSync(file))));
    await db.close();
    return;
  }
  if (addon === '@nxtedition/rocksdb') require(addon);  // before or after
  require('rocksieve').load(addon === 'rocksdb-native' ? { insteadOf: spec } : {});
  const oracle = new Map();
  let lookups = 0;
  for (let step = 0; step < STEPS; step++) {
    const db = await addons[addon]();
    lookups += await check(db, oracle);  // what the last one wrote
    for (let i = 0; i < 10; i++) {
      const rows = [];
      for (let j = 0; j < UNIVERSE / 20; j++) {
        const number = Math.floor(Math.random() * UNIVERSE);
        const value = Math.random() < 0.25 ? null : `${step} ${i} ${j}`;
        rows.push([number, value]);
        if (value === null) oracle.delete(number);
        else oracle.set(number, value);
      }
      await db.write(rows);
    }
    lookups += await check(db, oracle);
    if (db.compact) {
      await db.flush();
      await db.compact();
      lookups += await check(db, oracle);
    }
    await db.close();
    await (await addons[addon]()).close();  // now all rows are in files
    if (step === 0) assert(filesHaveOurFilter());
    fs.writeFileSync(file, JSON.stringify([...oracle]));
    const without = spawnSync(process.execPath, [__filename, addon, '-', directory], { encoding: 'utf8' });
    assert.strictEqual(without.status, 0, without.stdout + without.stderr);
    lookups += UNIVERSE;
  }
  console.log(`${addon} with ${spec}: ${lookups} lookups right`);
}

main().catch((error) => { console.error(error); process.exitCode = 1; });
