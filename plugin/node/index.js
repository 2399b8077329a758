// SPDX-License-Identifier: Apache-2.0
'use strict';
const os = require('os');
const path = require('path');

const library = path.join(__dirname, 'lib', 'librocksieve.so');
let isLoaded = false;

// See index.d.ts.
function load({ insteadOf } = {}) {
  if (insteadOf !== undefined) {
    if (isLoaded) throw new Error('rocksieve: insteadOf is for the first load() of a process');
    process.env.ROCKSIEVE_INSTEAD_OF = String(insteadOf);
  }
  // Seen by addons that come later, whose RocksDB registers and makes its filters there.
  process.dlopen({ exports: {} }, library,
                 os.constants.dlopen.RTLD_NOW | os.constants.dlopen.RTLD_GLOBAL);
  isLoaded = true;
}

module.exports = { load, library };
