package main

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	verbose := flag.Bool("v", false, "print each upward reference")
	order := flag.String("order", "", "the `file` that lists the order (default doc.go of the package)")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: readorder [-v] [-order file] folder")
		os.Exit(2)
	}
	folder := flag.Arg(0)
	r, err := count(folder, cmp.Or(*order, filepath.Join(folder, "doc.go")))
	if err != nil {
		fmt.Fprintln(os.Stderr, "readorder:", err)
		os.Exit(1)
	}
	if *verbose {
		for _, u := range r.upward {
			fmt.Printf("%s uses %s: %s\n", u.from, u.to, strings.Join(u.names, " "))
		}
	}
	fmt.Printf("%d of %d references between the files of %s run upwards: %.1f %%\n", len(r.upward), r.references, folder, r.share())
}
