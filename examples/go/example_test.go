// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/linxGnu/grocksdb"
)

const universe = 20000

func key(number int) []byte { return []byte(fmt.Sprintf("%06d", number)) }

func baseOptions(way string) *grocksdb.Options {
	options := grocksdb.NewDefaultOptions()
	options.SetCreateIfMissing(true)
	options.SetWriteBufferSize(64 << 10)
	options.EnableStatistics()
	table := grocksdb.NewDefaultBlockBasedTableOptions()
	switch way {
	case "partitioned":
		table.SetPartitionFilters(true)
		table.SetIndexType(grocksdb.KTwoLevelIndexSearchIndexType)
		table.SetMetadataBlockSize(512)
	case "prefixes":
		options.SetPrefixExtractor(grocksdb.NewFixedPrefixTransform(5))
	}
	options.SetBlockBasedTableFactory(table)
	return options
}

func check(t *testing.T, db *grocksdb.DB, oracle map[int]string) {
	t.Helper()
	read := grocksdb.NewDefaultReadOptions()
	defer read.Destroy()
	for number := 0; number < universe; number++ {
		value, err := db.GetBytes(read, key(number))
		if err != nil {
			t.Fatal(err)
		}
		expected, there := oracle[number]
		if there != (value != nil) || string(value) != expected {
			t.Fatalf("key %d: %q instead of %q (%v)", number, value, expected, there)
		}
	}
}

func write(t *testing.T, db *grocksdb.DB, oracle map[int]string, random *rand.Rand) {
	t.Helper()
	options := grocksdb.NewDefaultWriteOptions()
	defer options.Destroy()
	for i := 0; i < universe/2; i++ {
		number := random.Intn(universe)
		var err error
		if random.Intn(4) == 0 {
			delete(oracle, number)
			err = db.Delete(options, key(number))
		} else {
			oracle[number] = fmt.Sprint(i)
			err = db.Put(options, key(number), []byte(oracle[number]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Flush(grocksdb.NewDefaultFlushOptions()); err != nil {
		t.Fatal(err)
	}
}

func filesHaveOurFilter(t *testing.T, directory string) bool {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(directory, "*.sst"))
	if len(files) == 0 {
		t.Fatal("no table file")
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(content, []byte("rocksieve.")) {
			return true
		}
	}
	return false
}

// Opens, looks everything up, changes much, and looks everything up. An empty spec: without rocksieve.
func change(t *testing.T, path, spec, way string, oracle map[int]string, random *rand.Rand) {
	t.Helper()
	options := baseOptions(way)
	if spec != "" {
		var err error
		if options, err = withFilter(options, spec); err != nil {
			t.Fatal(err)
		}
	}
	db, err := grocksdb.OpenDb(options, path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	check(t, db, oracle)
	write(t, db, oracle, random)
	check(t, db, oracle)
	db.CompactRange(grocksdb.Range{})
	check(t, db, oracle)
}

func TestNoKeyIsLost(t *testing.T) {
	seed := time.Now().UnixNano()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewSource(seed))
	for _, spec := range []string{"rocksieve.bloom:10", "rocksieve.cuckoo:12", "rocksieve.ribbon:10",
		"rocksieve.auto:10"} {
		for _, way := range []string{"full", "partitioned", "prefixes"} {
			path, oracle := filepath.Join(t.TempDir(), "db"), map[int]string{}
			for step := 0; step < 3; step++ {
				with := spec
				if step == 1 {
					with = ""
				}
				change(t, path, with, way, oracle, random)
				if filesHaveOurFilter(t, path) != (step != 1) {
					t.Fatalf("%s %s: step %d has the wrong filter", spec, way, step)
				}
			}
		}
	}
}

// This test as a process of its own, which never loads rocksieve.
func TestAProgramWithoutRocksieve(t *testing.T) {
	const variable = "EXAMPLE_DATABASE"
	random := rand.New(rand.NewSource(1))
	oracle := map[int]string{}
	if path := os.Getenv(variable); path != "" {
		lines, err := os.ReadFile(path + ".rows")
		if err != nil {
			t.Fatal(err)
		}
		for number, line := range strings.Split(string(lines), "\n") {
			if line != "" {
				oracle[number] = line
			}
		}
		change(t, path, "", "full", oracle, random)
		return
	}
	path := filepath.Join(t.TempDir(), "db")
	change(t, path, "rocksieve.ribbon:10", "full", oracle, random)
	lines := make([]string, universe)
	for number, value := range oracle {
		lines[number] = value
	}
	if err := os.WriteFile(path+".rows", []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	without := exec.Command(os.Args[0], "-test.run=^TestAProgramWithoutRocksieve$", "-test.v")
	without.Env = append(os.Environ(), variable+"="+path)
	if said, err := without.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
}

func TestAMillionLookups(t *testing.T) {
	options, err := withFilter(baseOptions("full"), "rocksieve.ribbon:10")
	if err != nil {
		t.Fatal(err)
	}
	db, err := grocksdb.OpenDb(options, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	put, read := grocksdb.NewDefaultWriteOptions(), grocksdb.NewDefaultReadOptions()
	const lookups = 1000000
	for i := 0; i < lookups; i += 2 {
		if err := db.Put(put, key(i), nil); err != nil {
			t.Fatal(err)
		}
	}
	db.CompactRange(grocksdb.Range{})
	for i := 0; i < lookups; i++ {
		value, err := db.Get(read, key(i))
		if err != nil || value.Exists() != (i%2 == 0) {
			t.Fatalf("key %d: %v %v", i, value.Exists(), err)
		}
		value.Free()
	}
	// Of absent keys one in a thousand passes, where RocksDB's own filter lets nine.
	var useful int
	for _, line := range strings.Split(options.GetStatisticsString(), "\n") {
		fmt.Sscanf(line, "rocksdb.bloom.filter.useful COUNT : %d", &useful)
	}
	if useful < lookups/2*997/1000 || useful > lookups/2 {
		t.Fatalf("filters answered %d of %d", useful, lookups/2)
	}
}

func TestAWrongSpecSaysWhatIsAllowed(t *testing.T) {
	for _, spec := range []string{"rocksieve.bloom:x", "", "rocksieve.bloom:10};x={"} {
		if _, err := withFilter(baseOptions("full"), spec); err == nil ||
			!strings.Contains(err.Error(), "is not a rocksieve filter spec") {
			t.Errorf("%s: %v", spec, err)
		}
	}
}
