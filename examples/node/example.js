// SPDX-License-Identifier: Apache-2.0
// rocksieve in Node, with the RocksDB that @nxtedition/rocksdb has inside:
//
//   npm install @nxtedition/rocksdb rocksieve
//   node example.js
'use strict';
const fs = require('fs');
const os = require('os');
const path = require('path');
const { RocksLevel } = require('@nxtedition/rocksdb');

// This line is all: it finds the RocksDB of the addon above.
require('rocksieve').load();

const KEYS = 20000;
const key = (number) => 'key' + String(number).padStart(8, '0');

async function main(directory) {
  const options = { filterPolicy: 'rocksieve.ribbon:10' };
  let db = new RocksLevel(directory, options);
  await db.open();
  for (let first = 0; first < KEYS; first += 1000) {
    const rows = [];
    for (let i = first; i < first + 1000; i++) rows.push({ type: 'put', key: key(i), value: 'v' });
    await db.batch(rows);
  }
  await db.close(); // and open it again, so that the rows are in files
  db = new RocksLevel(directory, options);
  await db.open();
  let found = 0;
  for (let i = 0; i < KEYS; i++) if ((await db.get(key(i))) !== undefined) found++;
  await db.close();
  const files = fs.readdirSync(directory).filter((name) => name.endsWith('.sst'));
  const ours = files.filter((name) =>
    fs.readFileSync(path.join(directory, name)).includes('rocksieve.ribbon'));
  if (found !== KEYS || files.length === 0 || ours.length !== files.length) {
    throw new Error(`found ${found} of ${KEYS} keys; ${ours.length} of ${files.length} files have ` +
                    'our filter');
  }
  console.log(`found all ${KEYS} keys; ${files.length} files have a filter of ` +
              'rocksieve.ribbon:10');
}

const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'rocksieve-'));
main(path.join(directory, 'db')).finally(() => fs.rmSync(directory, { recursive: true }))
  .catch((error) => { console.error(error); process.exitCode = 1; });
