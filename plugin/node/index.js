// SPDX-License-Identifier: Apache-2.0
'use strict';
const os = require('os');
const path = require('path');

const library = path.join(__dirname, 'lib', 'librocksieve.so');

// See index.d.ts.
function load(options = {}) {
  if (typeof options !== 'object' || options === null) {
    throw new TypeError("rocksieve: load() takes an object, such as { insteadOf: 'rocksieve.ribbon:10' }");
  }
  for (const [name, value] of Object.entries(options)) {
    if (name !== 'addon' && name !== 'insteadOf') {
      throw new TypeError(`rocksieve: load() has the options addon and insteadOf, not ${name}`);
    }
    if (typeof value !== 'string') throw new TypeError(`rocksieve: ${name} must be a string`);
  }
  const { addon, insteadOf } = options;
  if (insteadOf !== undefined && !/^rocksieve\.(auto|bloom|cuckoo|range|ribbon):./.test(insteadOf)) {
    throw new TypeError(`rocksieve: "${insteadOf}" is no filter, such as rocksieve.ribbon:10`);
  }
  // Seen by addons that come later, whose RocksDB registers and makes its filters there. What the object
  // says, it reads itself (plugin/loader/node.cc).
  process.dlopen({ exports: { addon, insteadOf } }, library,
                 os.constants.dlopen.RTLD_NOW | os.constants.dlopen.RTLD_GLOBAL);
}

module.exports = { load, library };
