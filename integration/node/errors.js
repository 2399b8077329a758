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
  const load = (options) => `require('rocksieve').load(${options});`;
  const ribbon = load("{ insteadOf: 'rocksieve.ribbon:10' }");
  expect('RocksDB is in the process already', `require('rocksdb-native'); ${ribbon}`);
  expect('"rocksieve.ribon:10" is no filter', load("{ insteadOf: 'rocksieve.ribon:10' }"));
  expect('load() takes an object', load("'rocksieve.ribbon:10'"));
  expect('load() takes an object', load('null'));
  expect('addon and insteadOf, not insteadof', load('{ insteadof: 1 }'));
  expect('insteadOf must be a string', load('{ insteadOf: null }'));
  // Addons with other RocksDBs work as they would, before and after.
  const native = `(async () => {
    const db = new (require('rocksdb-native'))(${JSON.stringify(path.join(directory, 'native'))});
    await db.ready(); await db.put('a', 'b'); console.log('native ' + await db.get('a')); await db.close();
  })();`;
  expect('native b', `require('@nxtedition/rocksdb'); ${load('')} ${native}`);
  expect('native b', `${load('')} require('@nxtedition/rocksdb'); ${native}`);
  expect('native b', `require('rocksdb-native'); ${load('')} require('@nxtedition/rocksdb'); ${native}`);
  expect('native b', `${ribbon} require('@nxtedition/rocksdb'); ${native}`);
  const both = "require('@nxtedition/rocksdb'); require('rocksdb-native');";
  expect('there are 2 RocksDBs in this process', `${both} ${load('')}`);
  const addon = `Object.keys(require.cache).find((f) => f.endsWith('rocksdb-native.node'))`;
  expect('native b', `${both} const a = ${addon}; console.log(a); ${load('{ addon: a }')} ${native}`);
  const ours = (name) => `(async () => {
    const path = ${JSON.stringify(path.join(directory, name))};
    const db = new (require('rocksdb-native'))(path);
    await db.ready(); await db.put('a', 'b'); await db.flush(); await db.close();
    const files = require('fs').readdirSync(path).filter((name) => name.endsWith('.sst'));
    console.log('ours ' + files.some((name) =>
      require('fs').readFileSync(path + '/' + name).includes('rocksieve.ribbon')));
  })();`;
  expect('ours true', `new (require('worker_threads').Worker)(\`${ribbon} ${ours('worker')}\`, { eval: true });`);
  // The addon that is named may come after another one.
  const file = spawnSync(process.execPath, ['-p', `require('rocksdb-native'); ${addon}`],
                         { encoding: 'utf8', cwd: __dirname }).stdout.trim();
  const named = JSON.stringify({ addon: file, insteadOf: 'rocksieve.ribbon:10' });
  expect('ours true', `${load(named)} require('@nxtedition/rocksdb'); ${ours('named')}`);
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
