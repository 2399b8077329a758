// SPDX-License-Identifier: Apache-2.0

// Example is rocksieve in a Go program, by grocksdb with the shared librocksdb. The release of grocksdb
// is that of Debian 12's librocksdb; with its packages librocksdb-dev and librocksieve-dev:
//
//	go run . DIRECTORY
package main

/*
#cgo LDFLAGS: -lrocksieve
#include <stdlib.h>
#include <rocksdb/c.h>
#include <rocksieve/c.h>
*/
import "C"

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"github.com/linxGnu/grocksdb"
)

// withFilter gives the options a filter of rocksieve, such as rocksieve.ribbon:10. The old ones, and what
// belongs to them, must be kept as long as the new ones are used.
func withFilter(options *grocksdb.Options, spec string) (*grocksdb.Options, error) {
	text := C.CString(spec)
	defer C.free(unsafe.Pointer(text))
	// Loads what fits the RocksDB of this process, and says what is wrong with the spec, which option
	// strings do not.
	var problem *C.char
	policy := C.rocksieve_filterpolicy_create(text, &problem)
	if policy == nil {
		defer C.free(unsafe.Pointer(problem))
		return nil, errors.New(C.GoString(problem))
	}
	C.rocksdb_filterpolicy_destroy(policy)
	return grocksdb.GetOptionsFromString(options,
		"block_based_table_factory={filter_policy="+spec+"}")
}

func main() {
	options := grocksdb.NewDefaultOptions()
	options.SetCreateIfMissing(true)
	withRibbon, err := withFilter(options, "rocksieve.ribbon:10")
	if err == nil {
		var db *grocksdb.DB
		if db, err = grocksdb.OpenDb(withRibbon, os.Args[1]); err == nil {
			defer db.Close()
			write := grocksdb.NewDefaultWriteOptions()
			for i := 0; i < 1000 && err == nil; i++ {
				err = db.Put(write, []byte(fmt.Sprint(i)), []byte("value"))
			}
			if err == nil {
				err = db.Flush(grocksdb.NewDefaultFlushOptions())
			}
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("1000 keys in a file with a filter of rocksieve.ribbon:10")
}
