// SPDX-License-Identifier: Apache-2.0
// The published run of the hyphenation experiment: the same packages, on the lists of ours.
//
//   node measure.js PACKAGES WORDS EXCEPTIONS RATES REPEATS
//
// PACKAGES: a directory with node_modules; WORDS: a file with a word on each line; EXCEPTIONS: the
// same with hyphens; RATES: fractions with commas between them. Prints one JSON object; its fields
// mean what those of bench/experiments/hyphenation.h mean.
'use strict';
const fs = require('fs');
const {createRequire} = require('module');

const [packages, wordsFile, exceptionsFile, rates, repeats] = process.argv.slice(2);
const load = createRequire(fs.realpathSync(packages) + '/measure.js');
const {BloomFilter, CuckooFilter} = load('bloom-filters');
const Hypher = load('hypher');
const english = load('hyphenation.en-us');

const linesOf = (file) => fs.readFileSync(file, 'utf8').split('\n').filter((line) => line);
const words = linesOf(wordsFile);
const table = new Map(linesOf(exceptionsFile).map((line) => [line.replace(/-/g, ''), line.split('-')]));
const keys = [...table.keys()];
const hypher = new Hypher(english);

// CPU time of this process, threads of the collector and compiler included, in nanoseconds.
function now() {
  const usage = process.cpuUsage();
  return 1000 * (usage.user + usage.system);
}

const perWord = (body) => {
  const start = now();
  for (const word of words) body(word);
  return (now() - start) / words.length;
};

const kinds = [
  {set: 'Map', exact: true, make: () => new Map(table)},
  {set: 'BloomFilter', make: (rate) => BloomFilter.from(keys, rate)},
  {set: 'CuckooFilter', make: (rate) => CuckooFilter.from(keys, rate)},
];

const seats = [];
for (const kind of kinds) {
  for (const rate of kind.exact ? [0] : rates.split(',').map(Number)) {
    const set = kind.make(rate);
    let falseHits = 0, absent = 0, lost = 0;
    for (const key of keys) lost += !set.has(key);
    for (const word of words) {
      if (table.has(word)) continue;
      absent++;
      falseHits += set.has(word);
    }
    const seat = {kind, set, rate, initialisation: [], lookup: [], run: []};
    seat.row = {set: kind.set, exact: !!kind.exact, rate, observed_rate: falseHits / absent,
                lost_exceptions: lost};
    // Hexadecimal digits, of 4 bits each.
    if (kind.set === 'CuckooFilter') seat.row.fingerprint_bits = 4 * set._fingerprintLength;
    if (kind.set === 'BloomFilter') seat.row.hashes = set._nbHashes;
    seats.push(seat);
  }
}

// One round that does not count, until all is compiled.
for (let repeat = -1; repeat < Number(repeats); repeat++) {
  for (const seat of seats) {
    const {kind, set, rate} = seat;
    const start = now();
    kind.make(rate);
    const initialisation = (now() - start) / 1000;
    let found = 0, pieces = 0;
    const lookup = perWord((word) => { if (set.has(word)) found += table.has(word); });
    const run = perWord((word) => {
      const exception = set.has(word) ? table.get(word) : undefined;
      pieces += (exception || hypher.hyphenate(word)).length;
    });
    if (repeat < 0) continue;
    seat.initialisation.push(initialisation);
    seat.lookup.push(lookup);
    seat.run.push(run);
    seat.row.pieces = pieces;
  }
}

console.log(JSON.stringify({
  node: process.version, words: words.length, exceptions: keys.length,
  results: seats.map(({row, initialisation, lookup, run}) =>
    ({...row, initialisation_us: initialisation, lookup_ns: lookup, run_ns: run})),
}));
