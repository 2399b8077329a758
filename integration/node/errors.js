// SPDX-License-Identifier: Apache-2.0
// What goes wrong says so, each in a process of its own.
'use strict';
const assert = require('assert');
const fs = require('fs');
const os = require('os');
const path = require('path');
const { spawnSync } = require('child_process');

function expect(text, script) {
  const ran = spawnSync(process.execPath, ['-e', script], { encoding: 'utf8', cwd: __dirname });
  const said = ran.stdout + ran.stderr;
  assert.strictEqual(ran.signal, null, said);
  assert(said.includes(text), `${script}\nsaid ${said}`);
}

const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'rocksieve-'));
try {
  const database = JSON.stringify(path.join(directory, 'db'));
  const open = (filter) => `require('@nxtedition/rocksdb');
    require('rocksieve').load();
    const { RocksLevel } = require('@nxtedition/rocksdb');
    new RocksLevel(${database}, { filterPolicy: '${filter}' }).open()
      .then(() => console.log('opened'), (error) => console.log(String(error.cause || error)));`;
  expect('"rocksieve.ribbon:x" is not a rocksieve filter spec', open('rocksieve.ribbon:x'));
  expect('opened', open('rocksieve.ribbon:10'));
  expect('rocksieve: insteadOf is for the first load() of a process',
         `const { load } = require('rocksieve'); load(); load({ insteadOf: 'rocksieve.ribbon:10' });`);
  // Twice, and in a process without RocksDB, it does no harm.
  expect('twice', `const { load } = require('rocksieve'); load(); load(); console.log('twice');`);
  // No build for the addon's RocksDB: an Error with the sentence.
  const other = path.join(directory, 'node_modules', 'rocksieve');
  fs.cpSync(path.dirname(require.resolve('rocksieve/package.json')), other, { recursive: true });
  fs.rmSync(path.join(other, 'lib', 'librocksieve-9.7.so.1'));
  expect('caught rocksieve: the RocksDB in this process is 9.7.4',
         `require('@nxtedition/rocksdb');
          try { require(${JSON.stringify(other)}).load(); } catch (e) { console.log('caught ' + e.message); }`);
} finally {
  fs.rmSync(directory, { recursive: true });
}
console.log('errors as expected');
